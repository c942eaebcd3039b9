/** The fields of `data` that spec/events.md documents for each type of event. */
import { readFile } from 'node:fs/promises'
import type { LoggedEvent } from './log-rows.ts'

export interface Fields {
  readonly always: readonly string[]
  /** In parentheses. */
  readonly sometimes: readonly string[]
}

export async function documentedFields(): Promise<Map<string, Fields>> {
  const page = await readFile('spec/events.md', 'utf8')
  return new Map(
    [...page.matchAll(/^\| `([\w.]+)` \| .+? \|([^|]*)\|$/gm)].map(([, type = '', data = '']) => {
      const sometimes = [...data.matchAll(/\(`(\w+)`\)/g)].map(([, name = '']) => name)
      const all = [...data.matchAll(/`(\w+)`/g)].map(([, name = '']) => name)
      return [type, { always: all.filter((name) => !sometimes.includes(name)), sometimes }]
    }),
  )
}

/** Lists fields that an event has and the page does not, or the other way round. */
export function fieldFaults({ type, data }: LoggedEvent, documented: ReadonlyMap<string, Fields>): string[] {
  const { always, sometimes } = documented.get(type) ?? { always: [], sometimes: [] }
  const common = ['actor', 'via', 'truncated']
  const names = Object.keys(data).filter((name) => !common.includes(name))
  return [
    ...names.filter((name) => !always.includes(name) && !sometimes.includes(name)).map((name) => `${type} has ${name}`),
    ...always.filter((name) => !names.includes(name)).map((name) => `${type} has no ${name}`),
  ]
}
