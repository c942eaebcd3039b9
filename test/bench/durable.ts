/**
 * Measures a durable commit over REST and below it, next to isomorphic-git and native Git. Commits run one at a time
 * and 16 at once.
 */

import { expecting } from '../support/node.ts'
import { commitRows } from './commits.ts'
import { measure, timeOf } from './measure.ts'
import type { Report, Row } from './report.ts'
import { type BenchNode, openScene, type Scene } from './scene.ts'

const clients = 16

export async function benchCommits(report: Report): Promise<void> {
  const { latencies, shares, rates } = await commitRows({ times: 150 })
  const scene = await openScene(2)
  try {
    const nodes = await Promise.all(Array.from({ length: clients }, () => scene.node()))
    const commit = committer(scene)
    const rest = await measure('Grove, over REST: index and answer included', 200, () => commit(nodes[0]))
    report.rows('one durable commit', 'ms', [rest, ...latencies])
    report.rows("parts of Grove's time, without REST", 'ms', shares)
    const one = await rateOf(commit, [nodes[0]])
    const many = await rateOf(commit, nodes)
    const durable = timesOf(latencies, /^Grove/)
    report.say(
      `\nREST adds ${(rest.p50 - durable).toFixed(1)} ms to the ${durable.toFixed(1)} ms of the commit itself.\n`,
    )
    for (const { what, perSecond } of rates) report.say(`${perSecond.toFixed(0).padStart(6)} commits a second: ${what}`)
    report.say(
      `${one.toFixed(0).padStart(6)} commits a second: Grove over REST, ${clients} at a time on one repository`,
    )
    report.say(
      `${many.toFixed(0).padStart(6)} commits a second: Grove over REST, ${clients} at a time on 16 repositories`,
    )
    const ms = { unit: 'ms' }
    report.ratio({ ...ms, what: 'durable commit over REST', grove: rest.p50, peer: 'Grove without REST', of: durable })
    for (const [peer, pattern] of [
      ["isomorphic-git's commit(), not durable", /commit\(\) alone/],
      ["isomorphic-git's add() and commit()", /add\(\)/],
      ['git, core.fsync=all', /core\.fsync/],
    ] as const) {
      report.ratio({
        ...ms,
        what: 'durable commit without REST',
        grove: durable,
        peer,
        of: timesOf(latencies, pattern),
      })
    }
    report.ratio({
      what: 'commits over REST, 16 repositories',
      unit: '/s',
      grove: many,
      peer: 'one repository',
      of: one,
    })
  } finally {
    await scene.close()
  }
}

function committer({ ann }: Scene): (node: BenchNode | undefined) => Promise<unknown> {
  let n = 0
  return async (node) => {
    const changes = [{ action: 'put', path: 'docs/page.md', content: `text ${n++}` }]
    await ann.post(`${node?.at}/tree/main/commits`, { message: 'edit', changes }).then(expecting(201))
  }
}

/** Measures commits per second of 16 clients. Each client stays with one of the nodes. */
async function rateOf(
  commit: (node: BenchNode | undefined) => Promise<unknown>,
  nodes: readonly (BenchNode | undefined)[],
): Promise<number> {
  const each = 25
  const ms = await timeOf(() =>
    Promise.all(
      Array.from({ length: clients }, async (_, at) => {
        for (let n = 0; n < each; n++) await commit(nodes[at % nodes.length])
      }),
    ),
  )
  return (clients * each * 1_000) / ms
}

function timesOf(rows: readonly Row[], pattern: RegExp): number {
  const row = rows.find(({ what }) => pattern.test(what))
  if (!row) throw new Error(`No row is like ${pattern}`)
  return row.p50
}
