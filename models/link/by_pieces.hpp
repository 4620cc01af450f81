// A link that copies jobs of many pieces in another way than jobs of few.
#pragma once

#include <memory>

#include "models/link/link_model.hpp"

namespace spillway {

/// Jobs of at least `least` pieces take `many`, the others `few`.
std::unique_ptr<LinkModel> make_link_by_pieces(std::unique_ptr<LinkModel> few,
                                               std::unique_ptr<LinkModel> many,
                                               std::uint32_t least);

}  // namespace spillway
