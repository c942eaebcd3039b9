/** The walk of a background job through all repositories, beside a list of them, over restarts and changes. */

import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { v7 as newId } from 'uuid'
import { createWalk, repositoriesAtOnce, type Walk } from '../../server/domain/background/walk.ts'
import { randomFrom } from '../support/random.ts'
import { useWorld } from '../support/world.ts'

/** An organisation may take one repository more than a step has left. */
const atMost = repositoriesAtOnce + 1

describe('the walk through all repositories', () => {
  const { grove } = useWorld({}, { sweeps: false })
  let stored: Set<string>
  const random = randomFrom(29)

  before(async () => {
    stored = new Set()
    for (const size of [0, 3, 250, 1, 99, 100, 101, 0, 40]) {
      const org = newId()
      await add(org)
      for (let n = 0; n < size; n++) await add(`${org}/${newId()}.git`)
    }
  })

  async function add(path: string): Promise<void> {
    await mkdir(join(grove.dataDir, path, path.endsWith('.git') ? 'objects' : ''), { recursive: true })
    stored.add(path)
  }

  async function remove(path: string): Promise<void> {
    await rm(join(grove.dataDir, path), { recursive: true })
    stored.delete(path)
  }

  /** The repositories that one step visits, and if it was the last. */
  async function stepOf(walk: Walk, enters = true): Promise<{ seen: string[]; isOver: boolean }> {
    const seen: string[] = []
    const isOver = await walk.step(grove.deps, async ({ orgId, isFirst, nodeIds }) => {
      seen.push(...(isFirst ? [orgId] : []), ...nodeIds.map((id) => `${orgId}/${id}.git`))
      return enters
    })
    expect(seen.length).to.be.at.most(atMost)
    return { seen, isOver }
  }

  /** Steps until one is the last, each with a walk that `next` gives. */
  async function pass(next: () => Walk, between: () => Promise<void> = async () => {}): Promise<string[]> {
    const all: string[] = []
    for (;;) {
      const { seen, isOver } = await stepOf(next())
      all.push(...seen)
      if (isOver) return all
      await between()
    }
  }

  it('visits each once, in order, a bounded number at a time, and starts over', async () => {
    const walk = createWalk('once')
    for (let round = 0; round < 2; round++) expect(await pass(() => walk)).to.deep.equal([...stored].sort())
  })

  it('continues where it was after each restart of the service', async () => {
    for (let round = 0; round < 5; round++) {
      let walk = createWalk('restarted')
      const next = () => {
        if (random() < 0.5) walk = createWalk('restarted')
        return walk
      }
      expect(await pass(next)).to.deep.equal([...stored].sort())
    }
  })

  it('visits all that exist throughout, while others are created and deleted', async () => {
    for (let round = 0; round < 10; round++) {
      const throughout = new Set(stored)
      let walk = createWalk('changed')
      const seen = await pass(
        () => {
          if (random() < 0.3) walk = createWalk('changed')
          return walk
        },
        async () => {
          const nodes = [...stored].filter((path) => path.includes('/'))
          const gone = nodes[Math.floor(random() * nodes.length)] ?? ''
          await remove(gone)
          throughout.delete(gone)
          await add(`${gone.split('/')[0]}/${newId()}.git`)
        },
      )
      expect([...throughout].filter((path) => !seen.includes(path))).to.deep.equal([])
      expect(new Set(seen).size).to.equal(seen.length)
    }
  })

  it('passes over the nodes of what is not entered', async () => {
    const walk = createWalk('not entered')
    const seen: string[] = []
    for (let isOver = false; !isOver; ) {
      const step = await stepOf(walk, false)
      seen.push(...step.seen.filter((path) => !path.includes('/')))
      isOver = step.isOver
    }
    expect(seen).to.deep.equal([...stored].filter((path) => !path.includes('/')).sort())
  })

  it('begins where it began after a fault', async () => {
    const walk = createWalk('fault')
    const fault = new Error('of the disk')
    const failed = walk.step(grove.deps, async () => {
      throw fault
    })
    expect(await failed.catch((error: unknown) => error)).to.equal(fault)
    expect(await pass(() => walk)).to.deep.equal([...stored].sort())
  })
})
