/** The plan of an import: nodes are found again when their files are renamed, moved, edited, swapped, deleted, brought back. */

import { randomUUID } from 'node:crypto'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { expect } from 'chai'
import fc from 'fast-check'
import type { Plan } from '../../server/features/vault/plan/plan.ts'
import { apply, garden, type Known, org, planOf, useGardens } from './garden.ts'
import { startModel, steps, text } from './model.ts'

type Files = Record<string, string>

const withId = (id: string, body: string) => `---\nid: ${id}\n---\n${body}`

/** Imports one state of a folder after the other. */
async function imports(...states: Files[]): Promise<{ plans: Plan[]; known: Known }> {
  const known: Known = new Map()
  const plans: Plan[] = []
  for (const files of states) {
    const plan = await planOf(await garden(files), org, {}, { known })
    apply(plan, known)
    plans.push(plan)
  }
  return { plans, known }
}

/** Where each node of the second state was in the first, 'new' if it was not. */
async function origins(before: Files, after: Files) {
  const [first, second] = (await imports(before, after)).plans
  const paths = new Map(first?.nodes.map(({ id, path }) => [id, path]))
  const files = Object.fromEntries(second?.nodes.map(({ id, path }) => [path, paths.get(id) ?? 'new']) ?? [])
  return { files, gone: second?.gone.map(({ path }) => path), problems: second?.problems ?? [] }
}

describe('import: the plan', () => {
  useGardens()

  describe('finds a node again', () => {
    for (const [what, before, after, expected] of [
      ['renamed', { 'a.md': text('A') }, { 'b.md': text('A') }, { 'b.md': 'a.md' }],
      ['renamed and edited', { 'a.md': text('A') }, { 'b.md': `${text('A')}More\n` }, { 'b.md': 'a.md' }],
      ['edited by half', { 'a.md': text('A', 4) }, { 'b.md': text('A', 2) + text('B', 2) }, { 'b.md': 'a.md' }],
      ['moved', { 'a.md': text('A') }, { 'x/y/a.md': text('A') }, { 'x/y/a.md': 'a.md', x: 'new', 'x/y': 'new' }],
      ['with another ending', { 'a.md': 'A' }, { 'a.mdx': 'B' }, { 'a.mdx': 'a.md' }],
      ['in another case', { 'a.md': 'A' }, { 'A.md': 'B' }, { 'A.md': 'a.md' }],
      ['in another normal form', { 'e\u0301.md': 'A' }, { '\u00e9.md': 'B' }, { '\u00e9.md': 'e\u0301.md' }],
      ['empty, of its name', { 'a.md': '' }, { 'x/a.md': '' }, { 'x/a.md': 'a.md', x: 'new' }],
      [
        'as an index, with its folder',
        { 'x/index.md': text('X'), 'x/a.md': text('A') },
        { 'y/index.md': text('X'), 'y/a.md': text('A') },
        { 'y/index.md': 'x/index.md', 'y/a.md': 'x/a.md' },
      ],
      [
        'as a folder within a folder, renamed',
        { 'x/y/a.md': text('A'), 'x/y/b.md': text('B'), 'x/c.md': text('C') },
        { 'z/w/a.md': text('A'), 'z/w/b.md': text('B'), 'z/c.md': text('C') },
        { z: 'x', 'z/w': 'x/y', 'z/w/a.md': 'x/y/a.md', 'z/w/b.md': 'x/y/b.md', 'z/c.md': 'x/c.md' },
      ],
      [
        'by its name where several say the same',
        { 'x/a.md': text('A'), 'x/b.md': text('A') },
        { 'y/a.md': text('A'), 'y/b.md': text('A') },
        { 'y/a.md': 'x/a.md', 'y/b.md': 'x/b.md', y: 'x' },
      ],
      [
        'of the most similar',
        { 'a.md': text('A') },
        { 'b.md': `${text('A')}more\n`, 'c.md': `${text('A')}much more\nthan that\n` },
        { 'b.md': 'a.md', 'c.md': 'new' },
      ],
      [
        'by path, though another file has its text now',
        { 'a.md': text('A') },
        { 'a.md': text('B'), 'b.md': text('A') },
        { 'a.md': 'a.md', 'b.md': 'new' },
      ],
      [
        'by path where two swap their texts',
        { 'a.md': text('A'), 'b.md': text('B') },
        { 'a.md': text('B'), 'b.md': text('A') },
        { 'a.md': 'a.md', 'b.md': 'b.md' },
      ],
    ] as const satisfies readonly (readonly [string, Files, Files, Record<string, string>])[])
      it(what, async () => {
        const { files, gone, problems } = await origins(before, after)
        expect({ files, gone, problems }).to.deep.equal({ files: { '.': '.', ...expected }, gone: [], problems: [] })
      })

    it('by the id in its front matter, after any other change', async () => {
      const [a, b] = [randomUUID(), randomUUID().toUpperCase()]
      const before = { 'a.md': withId(a, text('A')), 'b.md': withId(b, text('B')) }
      const after = { 'a.md': withId(b, text('C')), 'x/b.md': withId(a, text('D')) }
      const { files, gone, problems } = await origins(before, after)
      expect({ files, gone, problems }).to.deep.equal({
        files: { '.': '.', 'a.md': 'b.md', 'x/b.md': 'a.md', x: 'new' },
        gone: [],
        problems: [],
      })
      const { known } = await imports(before)
      expect([...known.keys()]).to.include.members([a, b.toLowerCase()])
      expect(known.get(a)?.properties).to.deep.equal({ source_path: 'a.md' })
    })

    it('and gives a new file at its old path another id, the same in each run', async () => {
      const states = [{ 'a.md': text('A') }, { 'b.md': text('A') }, { 'a.md': text('C'), 'b.md': text('A') }]
      const { plans, known } = await imports(...states)
      const idOf = (plan: Plan | undefined, path: string) => plan?.nodes.find((node) => node.path === path)?.id
      expect(idOf(plans[2], 'b.md')).to.equal(idOf(plans[0], 'a.md'))
      expect(idOf(plans[2], 'a.md')).to.not.equal(idOf(plans[0], 'a.md'))
      const again = await planOf(await garden(states[2] ?? {}), org, {}, { known })
      expect(again).to.deep.equal({ ...plans[2], nodes: again.nodes })
      expect(again.nodes.map(({ id, path }) => [id, path])).to.deep.equal(
        plans[2]?.nodes.map(({ id, path }) => [id, path]),
      )
    })
  })

  describe('says of what is ambiguous that it is taken as new:', () => {
    for (const [what, before, after, fresh] of [
      [
        'two new files with one text',
        { 'a.md': text('A') },
        { 'b.md': text('A'), 'c.md': text('A') },
        ['b.md', 'c.md'],
      ],
      ['two gone files with one text', { 'a.md': text('A'), 'b.md': text('A') }, { 'c.md': text('A') }, ['c.md']],
      [
        'two that are as similar',
        { 'a.md': text('A') },
        { 'b.md': `${text('A')}B\n`, 'c.md': `${text('A')}C\n` },
        ['b.md', 'c.md'],
      ],
    ] as const)
      it(what, async () => {
        const { files, gone, problems } = await origins(before, after)
        for (const path of fresh) expect(files).to.have.property(path, 'new')
        expect(gone).to.deep.equal(Object.keys(before))
        expect(problems.map(({ path }) => path)).to.deep.equal(fresh)
        for (const { reason } of problems) expect(reason).to.match(/^treated as new: it might be any of a\.md/)
      })

    it('an id that two files name, unless one lies where its node is', async () => {
      const id = randomUUID()
      const both = { 'a.md': withId(id, text('A')), 'b.md': withId(id, text('B')) }
      const alone = await imports(both)
      expect([...alone.known.keys()]).to.not.include(id)
      const reason = `its id ${id} was ignored: it is the id of`
      expect(alone.plans[0]?.problems).to.deep.equal([
        { path: 'a.md', reason: `${reason} 2 files` },
        { path: 'b.md', reason: `${reason} 2 files` },
      ])
      const { plans } = await imports({ 'b.md': withId(id, text('B')) }, both)
      expect(plans[1]?.nodes.find((node) => node.id === id)?.path).to.equal('b.md')
      expect(plans[1]?.problems).to.deep.equal([{ path: 'a.md', reason: `${reason} b.md` }])
    })

    it('an id that is taken elsewhere', async () => {
      const id = randomUUID()
      const plan = await planOf(await garden({ 'a.md': withId(id, 'A') }), org, {}, { elsewhere: [id] })
      expect(plan.nodes.map((node) => node.id)).to.not.include(id)
      expect(plan.problems).to.deep.equal([{ path: 'a.md', reason: `its id ${id} was ignored: it is already in use` }])
    })
  })

  it.deep('keeps ids as a model does, whatever is renamed, moved, edited, deleted and brought back', async () => {
    const step = fc.record({ what: fc.constantFrom(...steps), which: fc.nat(), where: fc.nat() })
    let renames = 0
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(step, { maxLength: 5 }), { minLength: 1, maxLength: 5 }), async (rounds) => {
        const folder = await garden({})
        const known: Known = new Map()
        const model = startModel()
        for (const round of [[], ...rounds]) {
          const touched = new Set<string>()
          for (const { what, which, where } of round) model.take(what, which, where, touched)
          await rm(folder, { recursive: true })
          for (const [path, content] of model.files) {
            await mkdir(dirname(join(folder, path)), { recursive: true })
            await writeFile(join(folder, path), content)
          }
          const plan = await planOf(folder, org, {}, { known })
          apply(plan, known)
          const ids = new Map(plan.nodes.map(({ path, id }) => [path, id]))
          expect(new Set(ids.values()).size).to.equal(ids.size)
          model.judge(ids, JSON.stringify(round))
          expect(plan.problems).to.deep.equal([])
          renames += plan.nodes.filter(({ movedFrom }) => movedFrom !== undefined).length
        }
      }),
      { seed: 7, numRuns: 60 },
    )
    expect(renames).to.be.greaterThan(50)
  })
})
