// SPILLWAY_SANITIZED: a sanitizer that brings its own operator new watches this build. A macro,
// for what it decides is whether the program has one of its own.
#pragma once

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SPILLWAY_SANITIZED
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SPILLWAY_SANITIZED
#endif
#endif
