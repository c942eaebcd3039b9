/**
 * State that all instances of a module share. Mocha imports a test file if its imports have a top-level await, and
 * requires all others. An imported file has its own instances of all modules.
 */
const holder = globalThis as { groveTests?: Map<string, unknown> }
const states = holder.groveTests ?? new Map<string, unknown>()
holder.groveTests = states

/** Returns the state with this name. The first call makes it. */
export function shared<T>(name: string, make: () => T): T {
  if (!states.has(name)) states.set(name, make())
  return states.get(name) as T // made under this name
}
