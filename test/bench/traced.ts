/** Traces gitstore's writing calls to the file system: path, start and end. */
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'

export interface Call {
  readonly call: keyof typeof watched
  /** The new name of a rename or link. For an open file, the name with which it was opened. */
  readonly path: string
  /** Milliseconds, as `performance.now()` counts. */
  readonly from: number
  readonly to: number
}

type AnyCall = (...args: unknown[]) => unknown

/** The argument that is the path, or the number of an open file. */
const watched = {
  openSync: 0,
  writeFileSync: 0,
  fsync: 0,
  closeSync: 0,
  mkdirSync: 0,
  rename: 1,
  renameSync: 1,
  linkSync: 1,
  unlinkSync: 0,
} as const

/** Traces `work`, and all other work in this process during that time. */
export async function traced(work: () => Promise<unknown>): Promise<{ ms: number; calls: Call[] }> {
  const calls: Call[] = []
  const paths = new Map<unknown, string>()
  const functions = fs as unknown as Record<string, AnyCall> // their overloads are all calls
  const shipped = { ...functions }
  for (const name of Object.keys(watched) as (keyof typeof watched)[]) {
    // its keys are these
    const at = watched[name]
    const original = functions[name]
    if (!original) continue
    functions[name] = (...args) => {
      const path = paths.get(args[at]) ?? String(args[at])
      const from = performance.now()
      const ended = () => calls.push({ call: name, path, from, to: performance.now() })
      const callback = args.at(-1)
      if (typeof callback === 'function') {
        const told: AnyCall = (...results) => {
          ended()
          return callback(...results)
        }
        return original(...args.slice(0, -1), told)
      }
      try {
        const result = original(...args)
        if (name === 'openSync') paths.set(result, path)
        return result
      } finally {
        ended()
      }
    }
  }
  syncBuiltinESMExports()
  const started = performance.now()
  try {
    await work()
    return { ms: performance.now() - started, calls }
  } finally {
    for (const name of Object.keys(watched)) if (shipped[name]) functions[name] = shipped[name]
    syncBuiltinESMExports()
  }
}
