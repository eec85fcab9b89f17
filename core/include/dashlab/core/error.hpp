// The two kinds of failure that a caller can act on. The command line turns them into exit codes 2 and 3.
#pragma once

#include <stdexcept>
#include <string>

namespace dashlab {

/// The input or the usage is wrong. The message is one line: what is wrong, where, how to mend it.
class BadInput : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The machine lacks something: a GPU, memory, a readable or writable place. One line, as above.
class EnvironmentError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace dashlab
