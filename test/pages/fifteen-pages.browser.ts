/**
 * One source, one proposal: a model proposes 15 pages, three of them new and one to delete. Two members, each by a rule
 * of their part, review it on a telephone without script. A maintainer merges all of it, and undoes it. `PICTURES` names
 * a folder for pictures of the steps.
 */

import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { made } from '../support/cast.ts'
import { callMcp } from '../support/mcp-calls.ts'
import { expecting } from '../support/node.ts'
import { type PersonClient, signUp } from '../support/people.ts'
import { ann, expectSound, grove, newVisitor, signIn, useScene, type Visitor } from './scene.ts'

const git = (args: readonly string[]) => execFileSync('git', args, { encoding: 'utf8' })

const phone = { javaScriptEnabled: false, viewport: { width: 390, height: 844 } }

const rule = {
  ...{ branches: ['main'], approvals: 1, keep: 'same_change', checks: [], resolved: true },
  ...{ merge: 'maintainer', override: 'owner', pages: 'all' },
}

describe('fifteen pages from one source', () => {
  useScene()
  const pictures = process.env.PICTURES
  const people = new Map<string, PersonClient>()
  const visitors = new Map<string, Visitor>()
  const ids = new Map<string, string>()
  let link = ''
  let undo = ''

  const person = (name: string) => people.get(name) as PersonClient // `before` has made them
  const visitor = (name: string) => visitors.get(name) as Visitor
  const idOf = (title: string) => ids.get(title) ?? ''

  /** Checks the page, and takes its pictures. */
  const shown = async ({ page }: Visitor, step: string) => {
    if (pictures === undefined) return
    await mkdir(pictures, { recursive: true })
    const before = page.viewportSize()
    for (const width of [390, 1440]) {
      await page.setViewportSize({ width, height: 900 })
      await page.screenshot({ path: join(pictures, `${step}-${width}.png`), fullPage: true })
    }
    if (before) await page.setViewportSize(before)
  }

  const page = async (title: string, parent?: string) => {
    const text_content = `${title} are described in the atlas of 1998.\n\nThe atlas calls them *common*.\n`
    const body = { title, text_content, ...(parent !== undefined && { parents: [idOf(parent)] }) }
    const { id } = await made(ann.post(`/orgs/${ann.org}/nodes`, body))
    ids.set(title, id)
  }

  const fish = ['Herrings', 'Cods', 'Eels', 'Rays', 'Tunas', 'Sharks', 'Perches', 'Carps']
  const whales = ['Blue whales', 'Sperm whales', 'Right whales', 'Narwhals']

  /** The titles that a search for sturgeons finds. */
  const found = async (): Promise<string[]> => {
    const { matches } = await made(ann.post(`/orgs/${ann.org}/search/retrieve`, { query: 'sturgeons', top_k: 5 }))
    return matches.map(({ title }: { title: string }) => title)
  }

  before(async () => {
    for (const [name, role] of Object.entries({ Bea: 'editor', Lea: 'editor', Max: 'maintainer' })) {
      const one = await signUp(grove, name)
      people.set(name, one)
      await made(ann.put(`/orgs/${ann.org}/members/${one.user.email}`, { role }))
    }
    for (const part of ['Fish', 'Whales']) await page(part)
    for (const title of fish) await page(title, 'Fish')
    for (const title of whales) await page(title, 'Whales')
    await made(
      ann.patch(`/orgs/${ann.org}`, {
        rules: [
          { ...rule, under: idOf('Fish'), by: { people: [person('Bea').user.id] } },
          { ...rule, under: idOf('Whales'), by: { people: [person('Lea').user.id] } },
        ],
      }),
    )
    for (const name of ['Bea', 'Lea', 'Max']) {
      const one = await newVisitor(name === 'Max' ? {} : phone)
      visitors.set(name, one)
      await signIn(one, person(name))
    }
  })
  after(async () => {
    for (const { context } of visitors.values()) await context.close()
  })

  it('a model proposes them in one call, and gets one link', async () => {
    const { token } = await made(ann.post('/auth/tokens', { name: 'Model', access: 'propose' }))
    const changed = [...fish, ...whales.slice(0, 3)].map((title) => ({
      node_id: idOf(title),
      changes: [{ path: 'content.md', edits: [{ old: 'common', new: 'endangered, by the list of 2024' }] }],
    }))
    const fresh = [
      {
        ref: 'list',
        title: 'Red list',
        text: 'The list of 2024 names **eleven** of our pages.\n',
        parents: [idOf('Fish')],
      },
      { title: 'Sturgeons', text: 'They are on the [[Red list]].\n', parents: [idOf('Fish')] },
      { title: 'Grey whales', text: 'They came back.\n', parents: [idOf('Whales')] },
    ]
    const items = [...fresh, ...changed, { node_id: idOf('Narwhals'), delete: true }]
    const input = { org_id: ann.org, title: 'The red list of 2024', description: 'From the list of May 2024.', items }
    const { result } = await callMcp(grove, token, 'tools/call', 'propose_changes', input)
    const answer = result?.content?.[0]?.text ?? ''
    expect(answer).to.match(/^Proposal 1 of 15 nodes: \S+\nNew: 3; changed: 11; deleted: 1\./)
    link = new URL(/https?:\S+/.exec(answer)?.[0] ?? '').pathname
    expect(await found(), 'what is proposed is not found').to.deep.equal([])
  })

  for (const [name, part, count] of [
    ['Bea', 'fish', 10],
    ['Lea', 'whales', 5],
  ] as const)
    it(`${name} reads the ${part} on a telephone without script, and approves them`, async () => {
      const one = visitor(name)
      await one.open(link)
      await shown(one, `1-${name}-begins`)
      const set = (await ann.get(`/orgs/${ann.org}/change-sets/1`).then(expecting(200))).body.change_set
      const below = new Set(part === 'fish' ? ['Red list', 'Sturgeons', ...fish] : ['Grey whales', ...whales])
      const own = set.items.filter(({ title }: { title: string }) => below.has(title))
      expect(own).to.have.length(count)
      for (const { node_id } of own) {
        await one.open(`${link}?page=${node_id}`)
        if (node_id === own[0].node_id) await shown(one, `2-${name}-reads`)
        const section = one.page.locator(`[id="page-${node_id}"]`)
        await section.getByRole('button', { name: 'Approve', exact: true }).click()
        await section.getByText('You approved this page.').waitFor()
      }
      await shown(one, `3-${name}-has-approved`)
    })

  it('a maintainer sees that nothing holds it up, and merges all of it', async () => {
    const max = visitor('Max')
    await max.open(link)
    await expectSound(max.page)
    await shown(max, '4-Max-may-merge')
    await max.page.getByRole('link', { name: 'What it means' }).click()
    await max.page.waitForLoadState()
    await shown(max, '5-what-it-means')
    await max.open(link)
    await max.page.getByRole('button', { name: 'Merge 15 pages' }).click()
    await max.page.getByRole('heading', { name: 'Merged', exact: true }).waitFor()
    await expectSound(max.page)
    await shown(max, '6-merged')
    expect(await found()).to.deep.equal(['Sturgeons'])
    expect((await ann.get(`/orgs/${ann.org}/nodes/${idOf('Narwhals')}`)).status).to.equal(404)
    const desk = mkdtempSync(join(tmpdir(), 'grove-mirror-'))
    try {
      const mirror = join(desk, 'herrings.git')
      git(['clone', '--quiet', '--mirror', join(grove.dataDir, ann.org, `${idOf('Herrings')}.git`), mirror])
      expect(git(['-C', mirror, 'show', 'main:content.md'])).to.include('endangered')
    } finally {
      rmSync(desk, { recursive: true, force: true })
    }
  })

  it('and takes it back by another proposal, with the same two consents', async () => {
    const max = visitor('Max')
    await max.page.getByRole('button', { name: 'Undo', exact: true }).click()
    await max.page.getByRole('heading', { name: 'Undo: The red list of 2024 #2', level: 1 }).waitFor()
    undo = new URL(max.page.url()).pathname
    await expectSound(max.page)
    await shown(max, '7-undo')
    for (const [name, count] of [
      ['Bea', 10],
      ['Lea', 5],
    ] as const) {
      const one = visitor(name)
      await one.open(undo)
      const approve = one.page.getByRole('button', { name: `Approve these ${count} pages` })
      await approve.click()
      await approve.waitFor({ state: 'detached' })
    }
    await max.open(undo)
    await max.page.getByRole('button', { name: 'Merge 15 pages' }).click()
    await max.page.getByRole('heading', { name: 'Merged', exact: true }).waitFor()
    await shown(max, '8-undone')
    const { content } = (
      await ann.get(`/orgs/${ann.org}/nodes/${idOf('Herrings')}/tree/main/files/content.md`).then(expecting(200))
    ).body
    expect(content).to.include('common')
    const narwhals = await ann.get(`/orgs/${ann.org}/nodes/${idOf('Narwhals')}`).then(expecting(200))
    expect(narwhals.body.title).to.equal('Narwhals')
    for (const name of visitors.keys()) expect(visitor(name).faults, name).to.deep.equal([])
  })
})
