// Why a server ceases to serve, as a note.
#pragma once

#include "models/requests/standstill.hpp"
#include "sim/note.hpp"

namespace spillway {

Note standstill_note(const Standstill& standstill);

}  // namespace spillway
