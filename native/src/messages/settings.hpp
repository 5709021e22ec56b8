// What a trial of messages was asked for, as lines of name=value; Java reads the same lines.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "user_error.hpp"

namespace allocpool::messages {

class Settings {
 public:
  explicit Settings(std::string_view lines) {
    while (!lines.empty()) {
      const std::size_t end = std::min(lines.find('\n'), lines.size());
      const std::string_view line = lines.substr(0, end);
      if (const std::size_t equals = line.find('='); equals != std::string_view::npos) {
        values_.emplace(line.substr(0, equals), line.substr(equals + 1));
      }
      lines.remove_prefix(std::min(end + 1, lines.size()));
    }
  }

  const std::string& text(const std::string& name) const {
    const auto found = values_.find(name);
    if (found == values_.end()) throw UserError("the setting " + name + " is missing");
    return found->second;
  }

  std::int64_t whole(const std::string& name) const { return parsed(name, text(name)); }

  // Sizes of containers.
  std::size_t count(const std::string& name) const {
    const std::int64_t value = whole(name);
    if (value < 0) throw UserError("the setting " + name + " is below 0");
    return static_cast<std::size_t>(value);
  }

  double number(const std::string& name) const {
    try {
      return std::stod(text(name));
    } catch (const std::exception&) {
      throw UserError("the setting " + name + " is no number: " + text(name));
    }
  }

  bool is_on(const std::string& name) const { return whole(name) != 0; }

  std::vector<std::int64_t> wholes(const std::string& name) const {
    std::vector<std::int64_t> numbers;
    const std::string& words = text(name);
    for (std::size_t begin = 0; begin <= words.size();) {
      const std::size_t end = std::min(words.find(',', begin), words.size());
      numbers.push_back(parsed(name, words.substr(begin, end - begin)));
      begin = end + 1;
    }
    return numbers;
  }

 private:
  static std::int64_t parsed(const std::string& name, const std::string& word) {
    try {
      return std::stoll(word);
    } catch (const std::exception&) {
      throw UserError("the setting " + name + " is no whole number: " + word);
    }
  }

  std::map<std::string, std::string, std::less<>> values_;
};

}  // namespace allocpool::messages
