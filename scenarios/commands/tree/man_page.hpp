// Manual pages in roff, from the command tree.
#pragma once

#include <string>
#include <vector>

#include "scenarios/commands/tree/pages.hpp"

namespace spillway {

/// "spillway-trace-stats".
std::string man_name(const CommandPage& page);
/// The page's text; `pages` are those it may refer to.
std::string man_page(const CommandPage& page, const std::vector<CommandPage>& pages);

}  // namespace spillway
