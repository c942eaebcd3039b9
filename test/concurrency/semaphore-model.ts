/** The simplest model of a semaphore: lists that are searched, and a stamp for each lane's place. */

export const limits = { all: 3, key: 2, group: 2, waiting: 7, waitingOfKey: 4, timeoutMs: 100 } as const

export interface Asked {
  readonly id: number
  readonly key: string
  readonly group: string
}

type End = 'admitted' | 'refused' | 'aborted' | 'late'

interface Waiting extends Asked {
  readonly deadline: number
}

export class SemaphoreModel {
  readonly log: [id: number, end: End][] = []
  running: Asked[] = []
  waiting: Waiting[] = []
  readonly #stamps = new Map<string, number>()
  #stamp = 0
  #now = 0

  ask(asked: Asked): void {
    const ofKey = this.waiting.filter(({ key }) => key === asked.key)
    if (this.#fits(asked)) this.#admit(asked)
    else if (this.waiting.length === limits.waiting || ofKey.length === limits.waitingOfKey) this.#end(asked, 'refused')
    else {
      this.waiting.push({ ...asked, deadline: this.#now + limits.timeoutMs })
      for (const lane of lanesOf(asked)) if (!this.#stamps.has(lane)) this.#stamps.set(lane, ++this.#stamp)
    }
  }

  release(id: number): void {
    this.running = this.running.filter((one) => one.id !== id)
    for (let next = this.#next(); next; next = this.#next()) {
      this.#leave(next)
      for (const lane of lanesOf(next)) if (this.#stamps.has(lane)) this.#stamps.set(lane, ++this.#stamp)
      this.#admit(next)
    }
  }

  abort(id: number): void {
    const found = this.waiting.find((one) => one.id === id)
    if (!found) return
    this.#leave(found)
    this.#end(found, 'aborted')
  }

  pass(ms: number): void {
    this.#now += ms
    for (const late of this.waiting.filter(({ deadline }) => deadline <= this.#now)) {
      this.#leave(late)
      this.#end(late, 'late')
    }
  }

  /** Of the first of each lane, the one that fits and whose key, and then group, has waited longest for a turn. */
  #next(): Asked | undefined {
    const place = (one: Asked) => lanesOf(one).map((lane) => this.#stamps.get(lane) ?? 0)
    const fitting = this.waiting.filter((one) => this.#fits(one))
    return fitting.sort((a, b) => compare(place(a), place(b)) || a.id - b.id)[0]
  }

  #fits({ key, group }: Asked): boolean {
    const count = (what: (one: Asked) => boolean) => this.running.filter(what).length
    return (
      count(() => true) < limits.all &&
      count((one) => one.key === key) < limits.key &&
      count((one) => one.group === group) < limits.group
    )
  }

  #leave({ id }: Asked): void {
    this.waiting = this.waiting.filter((one) => one.id !== id)
    const left = new Set(this.waiting.flatMap(lanesOf))
    for (const lane of this.#stamps.keys()) if (!left.has(lane)) this.#stamps.delete(lane)
  }

  #admit(asked: Asked): void {
    this.running.push(asked)
    this.#end(asked, 'admitted')
  }

  #end({ id }: Asked, end: End): void {
    this.log.push([id, end])
  }
}

function lanesOf({ key, group }: Asked): [string, string] {
  return [key, `${key} ${group}`]
}

function compare([a1 = 0, a2 = 0]: number[], [b1 = 0, b2 = 0]: number[]): number {
  return a1 - b1 || a2 - b2
}
