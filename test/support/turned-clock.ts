/** Sets the wall clock of a running service that is a child process. Its monotonic clock does not change. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { compiled } from './faults.ts'

export interface TurnedClock {
  /** The environment for `spawnGrove`. */
  readonly environment: Record<string, string>
  /** Sets the milliseconds before (negative) or after the machine's clock. */
  set(ms: number): void
  remove(): void
}

export function turnedClock(): TurnedClock {
  const folder = mkdtempSync(join(tmpdir(), 'grove-clock-'))
  const file = join(folder, 'offset')
  const set = (ms: number) => {
    const bytes = Buffer.alloc(8)
    bytes.writeBigInt64LE(BigInt(ms))
    // Written in place, because the process has mapped it.
    writeFileSync(file, bytes, { flag: 'r+' })
  }
  writeFileSync(file, Buffer.alloc(8))
  return {
    environment: { LD_PRELOAD: compiled('clock.cc', '-shared', '-fPIC'), GROVE_CLOCK: file },
    set,
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}
