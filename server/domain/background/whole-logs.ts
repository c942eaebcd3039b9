/** Marks logs of events whose organisations are recorded completely. */
import { markLogsWhole } from '../../../index/log/events.ts'
import type { Services } from '../services.ts'

/** Observes a walk that records every repository. Only one from the first repository to the last counts. */
export class WholeLogs {
  /** When the walk began. Undefined: it began in the middle, or a repository could not be read. */
  #began: Date | undefined
  /** True before the first repository of a walk. */
  #isAtStart = false

  /** Call it before each step of the walk. */
  begin({ now }: Pick<Services, 'now'>): void {
    if (this.#isAtStart) this.#began = now()
    this.#isAtStart = false
  }

  /** Call it after each step of the walk. */
  async end(
    { events }: Pick<Services, 'events'>,
    { isOver, hasFailed }: { readonly isOver: boolean; readonly hasFailed: boolean },
  ): Promise<void> {
    if (hasFailed) this.#began = undefined
    if (!isOver) return
    const began = this.#began
    this.#isAtStart = true
    this.#began = undefined
    if (began !== undefined) await events.write((trx) => markLogsWhole(trx, began))
  }
}
