/** Two processes of the service over one data folder, either of which is killed and started again. */

import { setTimeout as sleep } from 'node:timers/promises'
import { type Faults, prepareFaults } from '../support/faults.ts'
import { faultsIn } from '../support/log.ts'
import { type SpawnedGrove, spawnGrove } from '../support/spawned-grove.ts'

interface Seat {
  readonly faults: Faults
  grove: SpawnedGrove | undefined
  /** The standard error of processes that have ended. */
  written: string
}

export interface Processes {
  /** Those that live. */
  readonly doors: () => SpawnedGrove[]
  /** SIGKILL at a moment of its own choice. */
  kill(seat: number): Promise<void>
  /**
   * Lets the process die between the renames of one transaction, at the `n`-th such place that it comes to; false if it
   * has come to none within `patience` milliseconds and was killed as it stood.
   */
  killWithin(seat: number, n: number, patience: number): Promise<boolean>
  restart(seat: number): Promise<void>
  /** SIGTERM to all. @throws Error for an exit code other than 0 */
  stop(): Promise<void>
  /** Whatever lives is killed, and nothing is left of the faults. */
  end(): Promise<void>
  /** Lines of the log that tell of a fault. */
  errors(): string[]
}

export async function startProcesses(
  dataDir: string,
  count: number,
  environment: Readonly<Record<string, string>> = {},
): Promise<Processes> {
  const seats: Seat[] = []
  const seatAt = (at: number): Seat => {
    const seat = seats[at]
    if (!seat) throw new Error(`There is no process ${at}`)
    return seat
  }
  const leave = (seat: Seat) => {
    seat.written += seat.grove?.output().stderr ?? ''
    seat.grove = undefined
  }
  const restart = async (at: number) => {
    const seat = seatAt(at)
    await seat.faults.none()
    const grove = await spawnGrove(dataDir, { ...environment, ...seat.faults.environment })
    seat.grove = grove
    void grove.exited.then(() => {
      if (seat.grove === grove) leave(seat)
    })
  }
  const kill = async (at: number) => {
    const seat = seatAt(at)
    const { grove } = seat
    leave(seat)
    await grove?.kill()
  }
  for (let at = 0; at < count; at++) seats.push({ faults: prepareFaults(), grove: undefined, written: '' })
  for (let at = 0; at < count; at++) await restart(at)
  return {
    doors: () => seats.flatMap(({ grove }) => (grove ? [grove] : [])),
    kill,
    killWithin: async (at, n, patience) => {
      const { grove, faults } = seatAt(at)
      if (!grove) throw new Error(`Process ${at} does not live`)
      await faults.ask(`KILL ${n} between`)
      const waiting = new AbortController()
      const late = sleep(patience, false, { signal: waiting.signal }).catch(() => false)
      const died = await Promise.race([grove.exited.then(() => true), late])
      waiting.abort()
      if (!died) await kill(at)
      return died
    },
    restart,
    stop: async () => {
      for (const seat of seats) {
        const { grove } = seat
        const code = await grove?.stop()
        if (grove && code !== 0) throw new Error(`A process ended with ${code}: ${grove.output().stderr}`)
        leave(seat)
      }
    },
    end: async () => {
      for (const at of seats.keys()) await kill(at)
      for (const { faults } of seats) await faults.remove()
    },
    errors: () =>
      seats.flatMap(({ written, grove }) =>
        faultsIn(`${written}${grove?.output().stderr ?? ''}`).filter((line) => /"level":[56]0/.test(line)),
      ),
  }
}
