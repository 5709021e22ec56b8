// The echo servers and the load generator, against each other and against clients that behave badly.
#include <dirent.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "allocpool_echo.h"
#include "load/generator.hpp"
#include "load/options.hpp"
#include "load/pattern.hpp"
#include "net.hpp"
#include "server/lines.hpp"
#include "user_error.hpp"

namespace {

using allocpool::echo::Descriptor;
using allocpool::echo::Generator;
using allocpool::echo::Lines;
using allocpool::echo::Options;
using allocpool::echo::parse_options;

constexpr int kMessageBytes = 512;

int open_descriptors() {
  int count = 0;
  DIR* folder = opendir("/proc/self/fd");
  while (readdir(folder) != nullptr) ++count;
  closedir(folder);
  return count;
}

int threads() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("Threads:", 0) == 0) return std::stoi(line.substr(8));
  }
  return 0;
}

// Bounded by the test's own patience: a condition that never comes true fails the assertion that follows.
void await(const std::function<bool()>& condition) {
  for (int i = 0; i < 2000 && !condition(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(5));
}

class Client {
 public:
  explicit Client(int port) : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = connect(socket_.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  }

  bool connected() const { return connected_; }
  void send(const std::string& text) {
    ASSERT_EQ(::send(number(), text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
  }
  std::string receive(std::size_t bytes) {
    std::string text(bytes, '\0');
    const ssize_t count = recv(number(), text.data(), bytes, MSG_WAITALL);
    text.resize(count < 0 ? 0 : static_cast<std::size_t>(count));
    return text;
  }
  bool closed() {
    char byte = 0;
    return recv(number(), &byte, 1, 0) <= 0;
  }
  int number() const { return socket_.number(); }

 private:
  Descriptor socket_;
  bool connected_ = false;
};

std::string message(std::size_t bytes = kMessageBytes, char letter = 'a') { return std::string(bytes - 1, letter) + "\n"; }

class EchoServer : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    char error[256] = "";
    server_ = ap_echo_start(GetParam(), 0, kMessageBytes, error, sizeof error);
    ASSERT_NE(server_, nullptr) << error;
  }
  void TearDown() override { ap_echo_stop(server_); }
  int port() const { return ap_echo_port(server_); }
  ap_echo_counts counts() const {
    ap_echo_counts found{};
    EXPECT_EQ(ap_echo_get_counts(server_, &found), AP_ECHO_OK);
    return found;
  }
  void expect_alive() {
    Client client(port());
    client.send(message());
    EXPECT_EQ(client.receive(kMessageBytes), message());
  }

  ap_echo* server_ = nullptr;
};

INSTANTIATE_TEST_SUITE_P(Io, EchoServer, testing::Values("threads", "epoll"), [](const auto& info) { return info.param; });

TEST_P(EchoServer, EchoesMessagesOfEverySizeAndSeveralAtOnce) {
  Client client(port());
  for (const std::size_t bytes : {1, 2, 511, kMessageBytes, 3}) {
    client.send(message(bytes));
    EXPECT_EQ(client.receive(bytes), message(bytes));
  }
  client.send("one\ntwo\nthree\n");
  EXPECT_EQ(client.receive(14), "one\ntwo\nthree\n");
}

TEST_P(EchoServer, WaitsForAClientThatSendsOneByteAtATime) {
  Client client(port());
  for (const char byte : message()) client.send(std::string(1, byte));
  EXPECT_EQ(client.receive(kMessageBytes), message());
}

TEST_P(EchoServer, ClosesAConnectionWhoseMessageIsTooLong) {
  Client client(port());
  client.send(std::string(kMessageBytes, 'x'));
  EXPECT_TRUE(client.closed());
  EXPECT_EQ(counts().oversize, 1);
  expect_alive();
}

TEST_P(EchoServer, AnswersAClientThatHasClosedItsHalf) {
  Client client(port());
  client.send(message());
  shutdown(client.number(), SHUT_WR);
  EXPECT_EQ(client.receive(kMessageBytes), message());
  EXPECT_TRUE(client.closed());
}

TEST_P(EchoServer, LivesBesideAClientThatNeverReads) {
  Client deaf(port());
  const std::string text = message();
  // Until both directions are full: the server must stop reading, not gather what it can't send.
  while (::send(deaf.number(), text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT) > 0) {
  }
  expect_alive();
}

TEST_P(EchoServer, GivesBackDescriptorsAndThreadsAfterAFlood) {
  const int running = threads();
  expect_alive();
  await([&] { return counts().closed == 1 && threads() == running; });
  const int descriptors = open_descriptors();
  for (int i = 0; i < 500; ++i) {
    Client client(port());
    ASSERT_TRUE(client.connected());
    if (i % 2 == 0) client.send("half a mess");
  }
  await([&] { return counts().accepted == 501 && counts().closed == 501 && threads() == running; });
  EXPECT_EQ(counts().closed, 501);
  EXPECT_EQ(open_descriptors(), descriptors);
  EXPECT_EQ(threads(), running);
  expect_alive();
}

TEST_P(EchoServer, StopsWithConnectionsOpen) {
  const int port = this->port();
  Client silent(port);
  silent.send("x");
  await([&] { return counts().accepted == 1; });
  ap_echo_stop(server_);
  EXPECT_TRUE(silent.closed());
  char error[256] = "";
  server_ = ap_echo_start(GetParam(), port, kMessageBytes, error, sizeof error);
  ASSERT_NE(server_, nullptr) << "the port is free again: " << error;
}

TEST_P(EchoServer, ATakenPortIsToldInOneLine) {
  char error[256] = "";
  EXPECT_EQ(ap_echo_start(GetParam(), port(), kMessageBytes, error, sizeof error), nullptr);
  EXPECT_EQ(std::string(error), "port " + std::to_string(port()) + " of 127.0.0.1 is taken: choose another, or 0 for any free one");
}

Options load_of(int port, int connections) {
  Options options = parse_options({"port=" + std::to_string(port), "connections=" + std::to_string(connections)});
  options.addresses = 3;
  options.rate = 2000;
  options.warmup_seconds = 0.1;
  options.seconds = 0.3;
  options.drain_seconds = 10;
  options.hold_seconds = 0;
  return options;
}

struct Pipe {
  Pipe() { EXPECT_EQ(pipe(ends), 0); }
  ~Pipe() {
    close(ends[0]);
    if (ends[1] >= 0) close(ends[1]);
  }
  int ends[2];
};

TEST_P(EchoServer, TheLoadGeneratorsCountersAgreeWithTheServers) {
  Pipe input;
  Generator generator(load_of(port(), 50));
  std::vector<std::string> events;
  generator.run(input.ends[0], [&](const char* name) { events.emplace_back(name); });
  EXPECT_EQ(events, (std::vector<std::string>{"connected", "measuring", "measured", "closed"}));
  const auto& tally = generator.tally();
  EXPECT_EQ(tally.errors(), 0) << generator.first_failure();
  EXPECT_EQ(tally.connected, 50);
  EXPECT_GT(tally.measured, 0);
  EXPECT_EQ(tally.sent, tally.echoed);
  await([&] { return counts().closed == 50; });
  EXPECT_EQ(counts().messages, tally.echoed);
  std::int64_t recorded = 0;
  for (const std::int64_t count : generator.delays().counts()) recorded += count;
  EXPECT_EQ(recorded, tally.measured);
  EXPECT_EQ(tally.measured, tally.due);
  EXPECT_EQ(tally.behind, 0);
  EXPECT_GE(tally.served, tally.measured);
  EXPECT_GT(generator.neighbour().walks(), 0);
  EXPECT_GT(generator.neighbour().walk_ns(), 0);
  EXPECT_GT(generator.neighbour().again_ns(), 0);
}

TEST_P(EchoServer, TheLoadGeneratorEndsWithItsInput) {
  Pipe input;
  close(std::exchange(input.ends[1], -1));
  Options options = load_of(port(), 5);
  options.seconds = options.hold_seconds = 3000;
  Generator generator(options);
  generator.run(input.ends[0], [](const char*) {});
  EXPECT_EQ(generator.tally().measured, 0);
}

// A server that answers every connection with the same function of what it received.
class Liar {
 public:
  explicit Liar(std::function<std::string(std::string)> answer)
      : listener_(allocpool::echo::listen_on_loopback(0, true)), answer_(std::move(answer)), thread_([this] { run(); }) {}
  ~Liar() {
    shutdown(listener_.number(), SHUT_RDWR);
    thread_.join();
  }
  int port() const { return allocpool::echo::port_of(listener_); }

 private:
  void run() {
    const Descriptor connection(accept(listener_.number(), nullptr, nullptr));
    char bytes[kMessageBytes];
    while (connection.open() && recv(connection.number(), bytes, sizeof bytes, MSG_WAITALL) > 0) {
      const std::string found = answer_(std::string(bytes, sizeof bytes));
      if (found.empty() || ::send(connection.number(), found.data(), found.size(), MSG_NOSIGNAL) < 0) return;
    }
  }

  Descriptor listener_;
  std::function<std::string(std::string)> answer_;
  std::thread thread_;
};

TEST(LoadGenerator, NoticesAChangedByte) {
  Liar liar([](const std::string& text) { return text.substr(0, 100) + "!" + text.substr(101); });
  Pipe input;
  Generator generator(load_of(liar.port(), 1));
  generator.run(input.ends[0], [](const char*) {});
  EXPECT_EQ(generator.tally().wrong, 1);
  EXPECT_EQ(generator.tally().echoed, 0);
}

TEST(LoadGenerator, NoticesOneByteTooMany) {
  Liar liar([](const std::string& text) { return text + "!"; });
  Pipe input;
  Generator generator(load_of(liar.port(), 1));
  generator.run(input.ends[0], [](const char*) {});
  EXPECT_EQ(generator.tally().wrong, 1);
}

TEST(LoadGenerator, NoticesADroppedConnection) {
  Liar liar([](const std::string&) { return std::string(); });
  Pipe input;
  Generator generator(load_of(liar.port(), 1));
  generator.run(input.ends[0], [](const char*) {});
  EXPECT_EQ(generator.tally().dropped, 1);
  EXPECT_GT(generator.tally().errors(), 0);
}

// 200 messages are due in a tenth of a second, and each takes two milliseconds.
Options overload_of(int port) {
  Options options = load_of(port, 1);
  options.rate = 2000;
  options.warmup_seconds = 0;
  options.seconds = 0.1;
  return options;
}

std::string answered_slowly(const std::string& text) {
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  return text;
}

TEST(LoadGenerator, GivesADelayToEveryMessageThatWasDueWheneverItsEchoComes) {
  Liar slow(answered_slowly);
  Pipe input;
  Generator generator(overload_of(slow.port()));
  generator.run(input.ends[0], [](const char*) {});
  const auto& tally = generator.tally();
  EXPECT_GE(tally.due, 199);
  EXPECT_EQ(tally.measured, tally.due);
  EXPECT_EQ(tally.behind, 0);
  EXPECT_EQ(tally.errors(), 0);
  EXPECT_LT(tally.arrived, tally.due / 2);  // what choosing by arrival would have seen
}

TEST(LoadGenerator, CountsWhatWasDueAndNeverSent) {
  Liar slow(answered_slowly);
  Pipe input;
  Options options = overload_of(slow.port());
  options.drain_seconds = 0.2;
  Generator generator(options);
  generator.run(input.ends[0], [](const char*) {});
  const auto& tally = generator.tally();
  EXPECT_GT(tally.behind, 0);
  EXPECT_EQ(tally.measured + tally.behind + tally.unanswered, tally.due);
}

TEST(LoadGenerator, TellsWhyNothingAnswers) {
  int port = 0;
  {
    const Descriptor gone = allocpool::echo::listen_on_loopback(0, true);
    port = allocpool::echo::port_of(gone);
  }
  Pipe input;
  Generator generator(load_of(port, 3));
  generator.run(input.ends[0], [](const char*) {});
  EXPECT_EQ(generator.tally().connect_failed, 3);
  EXPECT_EQ(generator.first_failure(), "Connection refused");
}

TEST(LoadOptions, RefuseWhatIsUnknownOrOutOfBounds) {
  const auto complaint = [](const std::vector<std::string>& words) -> std::string {
    try {
      parse_options(words);
    } catch (const allocpool::UserError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(complaint({"prot=1"}).find("unknown setting 'prot=1'"), std::string::npos);
  EXPECT_NE(complaint({"prot=1"}).find("connections"), std::string::npos);
  EXPECT_EQ(complaint({"port=1", "connections=70000"}), "connections '70000' is not a whole number from 1 to 60000");
  EXPECT_EQ(complaint({"port=1", "seconds=1e9"}), "seconds '1e9' is not a number from 0.01 to 3600");
  EXPECT_EQ(complaint({"port=1.5"}), "port '1.5' is not a whole number from 1 to 65535");
  EXPECT_EQ(complaint({}), "port is missing: the server's on 127.0.0.1");
}

TEST(Pattern, IsPrintableAndDiffersBetweenMessages) {
  std::vector<char> one(kMessageBytes), other(kMessageBytes);
  allocpool::echo::write_message(1, 7, 3, one.data(), one.size());
  EXPECT_EQ(one.back(), '\n');
  for (std::size_t i = 0; i + 1 < one.size(); ++i) ASSERT_TRUE(one[i] > ' ' && one[i] < 127);
  const std::uint64_t others[][3] = {{2, 7, 3}, {1, 8, 3}, {1, 7, 4}};
  for (const auto& [seed, connection, number] : others) {
    allocpool::echo::write_message(seed, connection, number, other.data(), other.size());
    EXPECT_NE(std::memcmp(one.data(), other.data(), one.size()), 0);
  }
}

TEST(Messages, AreTakenWholeFromTheWindow) {
  char memory[8];
  Lines lines(memory, sizeof memory);
  std::memcpy(lines.end(), "ab", 2);
  EXPECT_EQ(lines.append(2), 0U);
  std::memcpy(lines.end(), "\nc\nde", 5);
  EXPECT_EQ(lines.append(5), 5U);
  EXPECT_EQ(lines.messages(5), 2U);
  lines.take(5);
  EXPECT_EQ(lines.room(), 6U);
  EXPECT_FALSE(lines.oversize());
  std::memset(lines.end(), 'x', 6);
  EXPECT_EQ(lines.append(6), 0U);
  EXPECT_TRUE(lines.oversize());
}

}  // namespace
