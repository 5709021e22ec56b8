// A request that cannot be met; what() is the one line that the user reads.
#pragma once

#include <stdexcept>

namespace allocpool {

class UserError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace allocpool
