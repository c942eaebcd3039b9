/** Scripts that a child process runs before anything else. */

import { rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** The environment of a Node child process that first runs this script, a module. */
export function preload(script: string): Record<string, string> {
  return { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(script)}` }
}

export interface HeldChecks {
  /** The environment for `spawnGrove`. */
  readonly environment: Record<string, string>
  /** Stops all checks of repositories whose sync has failed, for as long as necessary. */
  hold(): void
  /** Runs all checks at once. */
  release(): void
}

/**
 * Controls when the service checks repositories after a failed sync. Without it, server/domain/background/read-only.ts
 * waits a second.
 */
export function heldChecks(): HeldChecks {
  const file = join(tmpdir(), `grove-held-${process.pid}-${made++}`)
  return {
    environment: preload(`
      import { existsSync } from 'node:fs'
      import { syncBuiltinESMExports } from 'node:module'
      import timers from 'node:timers/promises'
      const { setTimeout } = timers
      timers.setTimeout = async (ms, ...more) => {
        if (ms !== 1_000) return setTimeout(ms, ...more)
        do await setTimeout(20, ...more)
        while (existsSync(${JSON.stringify(file)}))
      }
      syncBuiltinESMExports()`),
    hold: () => writeFileSync(file, ''),
    release: () => rmSync(file, { force: true }),
  }
}

let made = 0
