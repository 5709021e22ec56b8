#include <memory>
#include <string>

#include "messages/trial.hpp"

namespace allocpool::messages {

std::unique_ptr<Workload> make_workload(std::string_view lines, const void* trace, std::size_t trace_bytes) {
  const Settings settings(lines);
  const std::int64_t threads = settings.whole("threads");
  if (threads < 1 || threads > 1024) throw UserError("threads is " + std::to_string(threads) + ", not 1 to 1024");
  const std::string& strategy = settings.text("strategy");
  if (strategy == "alloc") return std::make_unique<Trial<Alloc>>(settings, trace, trace_bytes);
  if (strategy == "pool" || strategy == "mix") return std::make_unique<Trial<Pool>>(settings, trace, trace_bytes);
  if (strategy == "reuse") return std::make_unique<Trial<Reuse>>(settings, trace, trace_bytes);
  throw UserError("unknown strategy '" + strategy + "': choose one of alloc,pool,mix,reuse");
}

}  // namespace allocpool::messages
