/**
 * Room below a limit, shared by what this process does at the same time.
 *
 * Work that adds something holds room until the index counts what it has added. So a process exceeds a limit only by
 * what other processes add.
 */

interface Holders {
  /** Held by work of this process. The count that is read may have some of it already. */
  held: number
  /** Added by work that has ended, since the start of the process. */
  added: number
  /** How often work has ended. */
  ended: number
}

/** Keyed by the kind and the id of the thing that is counted. An entry has some 100 bytes. */
const holders = new Map<string, Holders>()

/** The amount at a moment. */
interface Seen {
  /** Adds the amount that work of this process holds. It grows while the work runs. */
  total(): number
  /** Holds more, without a check. */
  hold(amount: number): void
}

export interface Hold {
  /** Counts what exists. The value is right until the next `await`. */
  see(): Promise<Seen>
  /** Gives back what is held, because the index counts it, or because nothing was added. */
  end(outcome: 'added' | 'nothing'): void
}

/** @param count counts what exists, for example in the index */
export function openHold(key: string, count: () => Promise<number>): Hold {
  const all = holders.get(key) ?? { held: 0, added: 0, ended: 0 }
  holders.set(key, all)
  let own = 0
  return {
    see: async () => {
      const { counted, added } = await countAround(all, count)
      return {
        total: () => counted + (all.added - added) + all.held,
        hold: (amount) => {
          own += amount
          all.held += amount
        },
      }
    },
    end: (outcome) => {
      all.held -= own
      if (outcome === 'added') all.added += own
      own = 0
      all.ended++
    },
  }
}

/** Counts what exists. Repeats it if work has ended since, which then is neither held nor counted. */
async function countAround(all: Holders, count: () => Promise<number>): Promise<{ counted: number; added: number }> {
  for (;;) {
    const { ended, added } = all
    const counted = await count()
    if (all.ended === ended) return { counted, added }
  }
}
