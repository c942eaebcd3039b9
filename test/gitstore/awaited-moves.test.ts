/** A reader of refs beside a transaction over several repositories. */

import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { awaitMoves } from '../../gitstore/refs/await-moves.ts'
import { type Move, type RefName, updateRefs } from '../../gitstore/refs/ref-transaction.ts'
import { readRef } from '../../gitstore/refs/refs.ts'
import { until } from '../support/until.ts'
import { bareRepo, commitFiles, folder, newStore, useFolder } from './bare-repo.ts'

const main = 'refs/heads/main'
const ledger = 'refs/grove/ledger'

describe('gitstore: a reader beside a transaction', () => {
  useFolder()

  /** Reads the ref of the last move as a reader does that began after the other moves. */
  async function seenOfLast(moves: readonly Move[], name: RefName) {
    const last = moves.at(-1)
    if (!last) throw new Error('nothing moves')
    const store = await newStore(folder)
    // A folder in its way holds up the last move, and a lock in the folder keeps it there.
    const inTheWay = join(last.repo.dir, last.ref)
    await mkdir(inTheWay, { recursive: true })
    await writeFile(join(inTheWay, 'a.lock'), '')
    const moving = updateRefs(store, moves, async () => ({ moves, value: undefined }))
    await until(() => moves.slice(0, -1).every(({ repo, ref, to }) => readRef(repo, ref) === to))
    const seen = awaitMoves(store, name).then(() => readRef(last.repo, last.ref))
    // A reader that does not wait has read by then.
    await sleep(20)
    await rm(inTheWay, { recursive: true, force: true })
    await moving
    return seen
  }

  it('sees all moves if they are in several repositories', async () => {
    const pages = await Promise.all(
      Array.from({ length: 20 }, async (_, at) => {
        const { repo } = await bareRepo()
        return { repo, to: await commitFiles(repo, { 'content.md': `Page ${at}` }) }
      }),
    )
    const moves = [main, ledger].flatMap((ref) => pages.map((page) => ({ ...page, ref })))
    const [one] = moves
    expect(one && (await seenOfLast(moves, one))).to.equal(moves.at(-1)?.to)
  })

  it('waits for no transaction of one repository', async () => {
    const { repo } = await bareRepo()
    const to = await commitFiles(repo, { 'content.md': 'A page' })
    const moves = [main, ledger].map((ref) => ({ repo, ref, to }))
    expect(await seenOfLast(moves, { repo, ref: main })).to.equal(null)
  })

  it('waits for no lock of native git', async () => {
    const { repo } = await bareRepo()
    await writeFile(join(repo.dir, `${main}.lock`), '')
    await awaitMoves(await newStore(folder), { repo, ref: main })
  })
})
