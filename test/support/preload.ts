/** What a child is to run before anything else. */

import { rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** For the environment of a child of node: runs this script, a module, first. */
export function preload(script: string): Record<string, string> {
  return { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(script)}` }
}

export interface HeldChecks {
  /** For `spawnGrove`. */
  readonly environment: Record<string, string>
  /** From now on no repository whose sync has failed is checked, however long that takes. */
  hold(): void
  /** All are checked at once. */
  release(): void
}

/** Says when the service checks what a failed sync has made suspect: server/domain/background/read-only.ts waits a second. */
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
