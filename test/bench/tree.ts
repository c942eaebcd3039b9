/** Measures the tree: pages and levels below a folder of 2,700 nodes, next to a folder of ten. */

import { randomUUID } from 'node:crypto'
import { pageAt } from '../support/pages.ts'
import { signUp } from '../support/people.ts'
import { interleave, turns } from './measure.ts'
import type { Peers } from './peers.ts'
import type { Report } from './report.ts'
import { openScene } from './scene.ts'

const sizes = [2_700, 100, 10] as const
/** Nodes of each folder that are read. */
const shown = 10
/** Nodes of a request that creates them. */
const atOnce = 500

export async function benchTree(report: Report, _peers: Peers): Promise<void> {
  const scene = await openScene()
  try {
    const ann = await signUp(scene.grove, 'Gardener')
    const create = async (titles: readonly string[], parents: readonly string[]) => {
      const nodes = titles.map((title) => ({ id: randomUUID(), title, parents }))
      for (let at = 0; at < nodes.length; at += atOnce) {
        const { status } = await ann.post(`/orgs/${ann.org}/nodes/batch`, { nodes: nodes.slice(at, at + atOnce) })
        if (status !== 201) throw new Error(`A batch answered ${status}`)
      }
      return nodes.map(({ id }) => id)
    }
    const published = await ann.patch(`/orgs/${ann.org}`, { published: true })
    if (published.status !== 200) throw new Error(`Publishing answered ${published.status}`)
    const connection = scene.connect()
    const works: { page: () => Promise<unknown>; around: () => Promise<unknown>; first: () => Promise<unknown> }[] = []
    for (const size of sizes) {
      const [folder = ''] = await create([`Folder of ${size}`], [])
      const titles = Array.from({ length: size }, (_, n) => `Page ${n + 1} of the folder`)
      const ids = await create(titles, [folder])
      // As many in each folder, because a page is slower when it is first read.
      const next = turns(ids.filter((_, at) => at % (size / shown) === 0))
      const level = `/orgs/${ann.org}/tree?under=${folder}&limit=101`
      works.push({
        page: () => connection.get(pageAt(ann.org, next()), { accept: 'text/html' }),
        around: () => connection.get(`${level}&around=${next()}`),
        first: () => connection.get(level),
      })
    }
    for (const [kind, what] of [
      ['page', 'the page of a node'],
      ['around', 'the level around a node'],
      ['first', 'the first 101 nodes of a level'],
    ] as const) {
      const rows = await interleave(
        200,
        works.map((work, at) => [`in a folder of ${sizes[at]?.toLocaleString('en')}`, work[kind]] as const),
      )
      const [large, hundred, ten] = rows
      if (!large || !hundred || !ten) throw new Error('Nothing was measured')
      report.rows(what, 'ms', rows)
      const of = { unit: 'ms', grove: large.p50 }
      const wanted = { atMost: 1.5 }
      // A level of ten has a tenth of the nodes to send.
      if (kind === 'page')
        report.ratio({ ...of, what: `${what}, 2,700 siblings`, peer: 'Grove: ten', of: ten.p50, wanted })
      report.ratio({ ...of, what: `${what}, 2,700 siblings`, peer: 'Grove: 100', of: hundred.p50, wanted })
    }
    connection.close()
  } finally {
    await scene.close()
  }
}
