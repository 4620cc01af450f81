#include "policies/catalogue.hpp"

namespace spillway {

std::unique_ptr<EvictionPolicy> make_lru(const EvictionContext& context);
std::unique_ptr<EvictionPolicy> make_fifo(const EvictionContext& context);

namespace {

constexpr EvictionEntry kEviction[] = {
    {"lru", "Least recently released or used leaves first; a chain's tail dies before its head.",
     make_lru},
    {"fifo", "First stored leaves first, however often it is used.", make_fifo},
};

}  // namespace

std::span<const EvictionEntry> eviction_policies() {
  return kEviction;
}

}  // namespace spillway
