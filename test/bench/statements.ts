/** Counts the SQL statements of single requests to a service in this process. */

import { basename } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type Sqlite from 'better-sqlite3'
import { openSqlite } from '../../index/sqlite/better-sqlite3.ts'
import { startGrove } from '../support/grove.ts'
import { expecting, newNode } from '../support/node.ts'
import { signUp } from '../support/people.ts'
import { rowOf } from './measure.ts'
import type { Report } from './report.ts'

interface Statement {
  /** The file name of its database. */
  readonly file: string
  readonly text: string
}

const times = 11
/** Some statements run after the answer, such as those that look for webhooks. */
const settleMs = 200
/** Timers run all their statements in this time. */
const idleMs = 6_000
const files = ['index.sqlite', 'credentials.sqlite', 'events.sqlite'] as const

/** Says how many statements a request runs in each database. The search thread's are not counted. */
export async function sayStatements(report: Report): Promise<void> {
  const noted = noteStatements()
  const grove = await startGrove({ postgres: false })
  try {
    const ann = await signUp(grove, 'Ann')
    const node = await newNode(grove, ann)
    const fields = { title: 'Note', text_content: 'Whales sing\n', parents: [node.id] }
    let count = 0
    const works = [
      ['a GET of a node', () => ann.get(node.at).then(expecting(200))],
      ['a commit of one file in a folder', () => node.commit('main', { 'docs/page.md': `Words ${count++}\n` })],
      ['a creation of a node with a parent', () => ann.post(`/orgs/${ann.org}/nodes`, fields).then(expecting(201))],
    ] as const
    for (const [, work] of works) await work()
    await sleep(settleMs)
    const idle = new Set((await noted.during(() => sleep(idleMs))).map(({ text }) => text))
    report.say('\nSQL statements of one request, median:\n')
    for (const [what, work] of works) {
      const runs: Statement[][] = []
      for (let n = 0; n < times; n++) {
        const run = await noted.during(() => work().then(() => sleep(settleMs)))
        runs.push(run.filter(({ text }) => !idle.has(text)))
      }
      const counts = files.map((file) => `${medianIn(runs, file)} in ${file}`)
      report.say(`${what}: ${counts.join(', ')}`)
    }
  } finally {
    noted.stop()
    await grove.close()
  }
}

function medianIn(runs: readonly (readonly Statement[])[], file: string): number {
  const counts = runs.map((run) => run.filter((one) => one.file === file).length)
  return rowOf(file, counts).p50
}

const methods = ['run', 'get', 'all', 'iterate'] as const

/** Notes each statement that this thread runs, in any database. */
function noteStatements() {
  const database = openSqlite(':memory:')
  const prototype: Sqlite.Statement = Object.getPrototypeOf(database.prepare('select 1'))
  database.close()
  const originals = methods.map((method) => [method, prototype[method]] as const)
  let noted: Statement[] = []
  for (const [method, original] of originals) {
    const value = function (this: Sqlite.Statement, ...values: unknown[]) {
      noted.push({ file: basename(this.database.name), text: this.source })
      return Reflect.apply(original, this, values)
    }
    Object.defineProperty(prototype, method, { value, configurable: true, writable: true })
  }
  return {
    during: async (work: () => Promise<unknown>): Promise<Statement[]> => {
      noted = []
      await work()
      return noted
    },
    stop: () => {
      for (const [method, value] of originals)
        Object.defineProperty(prototype, method, { value, configurable: true, writable: true })
    },
  }
}
