/** The graph page of more pages than a map shows: a list of parts, each of which is drawn. */

import { rm } from 'node:fs/promises'
import { expect } from 'chai'
import * as limits from '../../server/base/limits.ts'
import { fillGraph } from '../bench/graph-data.ts'
import { made } from '../support/cast.ts'
import { newDataDir } from '../support/data-folder.ts'
import { pageAt } from '../support/pages.ts'
import { signUp } from '../support/people.ts'
import { spawnGrove } from '../support/spawned-grove.ts'
import { newVisitor, useScene } from './scene.ts'

describe('the graph page of too many pages for one map', () => {
  let dataDir = ''
  let org = ''
  const ids: string[] = []
  useScene(async () => {
    dataDir = await newDataDir()
    const service = await spawnGrove(dataDir)
    const eve = await signUp(service, 'Eve')
    org = (await made(eve.post('/orgs', { name: 'Atlas', published: true }))).id
    // Punctuation comes first in the list.
    const nodes = [
      { ref: 'sea', title: '! Sea' },
      { ref: 'whales', title: 'Whales', parents: ['sea'] },
      { ref: 'krill', title: 'Krill', parents: ['sea', 'whales'] },
      { ref: 'blue', title: 'Blue whale', parents: ['whales'], connections: [{ target: 'krill', type: 'eats' }] },
    ]
    const { nodes: all } = await made(eve.post(`/orgs/${org}/nodes/batch`, { nodes }))
    ids.push(...(all as unknown as { id: string }[]).map(({ id }) => id))
    await service.stop()
    await fillGraph(dataDir, org, { nodes: limits.mapNodes, edges: 1 })
    return { dataDir }
  })
  after(() => rm(dataDir, { recursive: true, force: true }))

  it('lists its parts and draws nothing, with and without script', async () => {
    for (const javaScriptEnabled of [true, false]) {
      const { context, page, open, faults } = await newVisitor({ javaScriptEnabled })
      expect(await open(`${pageAt(org)}/graph`)).to.deep.equal({ status: 200 })
      await page.getByText('These are too many pages for one map. Choose a part.').waitFor()
      expect(await page.locator('canvas').count()).to.equal(0)
      expect(await page.locator('.inside > li').count()).to.equal(201)
      const rest = page.getByRole('link', { name: 'and 99,800 more' })
      expect(await rest.getAttribute('href')).to.match(/\/subpages$/)
      await page.getByRole('link', { name: '2 pages in ! Sea' }).click()
      await page.getByRole('heading', { name: '! Sea', level: 1 }).waitFor()
      expect(await page.locator('.sub').first().textContent()).to.equal('2 subpages · Show the whole graph')
      if (javaScriptEnabled) await page.locator('#canvas[data-drawn="4"]').waitFor()
      await page.getByRole('link', { name: 'Show the whole graph' }).click()
      await page.getByText('Choose a part.').waitFor()
      expect(faults).to.deep.equal([])
      await context.close()
    }
  })

  it('draws a part with its links, of which each request reads only the part', async () => {
    const { context, page, open, faults } = await newVisitor()
    const answers: string[] = []
    page.on('response', (answer) => {
      const { pathname, search } = new URL(answer.url())
      if (/\/(map|graph)$/.test(pathname) && pathname.startsWith('/orgs/'))
        answers.push(pathname.split('/').at(-1) + search)
    })
    await open(`${pageAt(org)}/graph?under=${ids[0]}`)
    await page.locator('#canvas[data-drawn="4"]').waitFor()
    expect(answers.sort()).to.deep.equal([`graph?under=${ids[0]}`, `map?under=${ids[0]}&layout=part`])
    expect(await page.getByLabel('eats').isChecked()).to.equal(true)
    await page.getByRole('link', { name: '2 pages in Whales' }).click()
    await page.locator('#canvas[data-drawn="3"]').waitFor()
    expect(faults).to.deep.equal([])
    await context.close()
  })

  it('shows the part around a page that the address names', async () => {
    const { context, page, open, faults } = await newVisitor()
    for (const [focus, heading] of [
      [ids[3], 'Whales'],
      [ids[1], 'Whales'],
    ]) {
      await open(`${pageAt(org)}/graph?focus=${focus}`)
      await page.getByRole('heading', { name: heading ?? '', level: 1 }).waitFor()
      await page.locator('#canvas[data-drawn="3"]').waitFor()
      await page.getByRole('heading', { name: focus === ids[3] ? 'Blue whale' : 'Whales', level: 2 }).waitFor()
    }
    expect(faults).to.deep.equal([])
    await context.close()
  })
})
