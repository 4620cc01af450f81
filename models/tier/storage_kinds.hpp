// The published figures of each kind of storage; models/tier/<kind>.cpp has them with sources.
#pragma once

#include <vector>

#include "models/tier/storage_spec.hpp"

namespace spillway {

namespace nvme {
StorageSpec spec();
std::vector<StorageSource> sources();
}  // namespace nvme
namespace shared_fs {
StorageSpec spec();
std::vector<StorageSource> sources();
}  // namespace shared_fs
namespace object_store {
StorageSpec spec();
std::vector<StorageSource> sources();
}  // namespace object_store
namespace kv_server {
StorageSpec spec();
std::vector<StorageSource> sources();
}  // namespace kv_server

}  // namespace spillway
