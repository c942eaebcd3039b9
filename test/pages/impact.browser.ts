/** A proposal shows all its changes in the graph, or says that they are unknown. */

import { expect } from 'chai'
import { h } from 'preact'
import { render } from 'preact-render-to-string'
import { AppError } from '../../server/base/errors.ts'
import { ProposedImpact, readPullImpact } from '../../server/pages/parts/pull-impact.tsx'
import { Urls } from '../../server/pages/urls.ts'
import type { Api } from '../../spec/client/api.ts'
import { made } from '../support/cast.ts'
import { pageAt } from '../support/pages.ts'
import { ann, newVisitor, signIn, useScene } from './scene.ts'

describe('the impact of a proposal', () => {
  useScene()

  it('is told whole: edges, what lies above and below, what leads nowhere, what the public sees', async () => {
    const { id: org } = await made(ann.post('/orgs', { name: 'Atlas', published: true }))
    const node = async (title: string) => (await made(ann.post(`/orgs/${org}/nodes`, { title }))).id as string
    const [oceans, sea, land] = [await node('Oceans'), await node('Sea'), await node('Land')] as const
    const [whales, orca] = [await node('Whales'), await node('Orca')] as const
    const under = (child: string, parent: string) => made(ann.put(`/orgs/${org}/nodes/${child}/parents/${parent}`, {}))
    await under(sea, oceans)
    await under(whales, land)
    await under(orca, whales)
    const at = `/orgs/${org}/nodes/${whales}`
    const none = '00000000-0000-4000-8000-000000000000'
    const put = (path: string, value: object) => ({ action: 'put', path, content: JSON.stringify(value) })
    await made(ann.post(`${at}/branches`, { name: 'draft' }))
    const changes = [
      put(`parents/${sea}.json`, { label: '' }),
      { action: 'delete', path: `parents/${land}.json` },
      put('connections/eats.json', { target: orca, type: 'meets', label: '' }),
      put('connections/none.json', { target: none, type: 'meets', label: '' }),
    ]
    await made(ann.post(`${at}/tree/draft/commits`, { message: 'Move to the sea', changes }))
    await made(ann.post(`${at}/pull-requests`, { source_branch: 'draft', title: 'To the sea' }))
    const { context, page, open, faults } = await newVisitor({ javaScriptEnabled: false })
    await signIn({ context, page, open, faults })
    await open(`${pageAt(org, whales)}/proposals/1`)
    const told = (await page.locator('#graph').innerText()).replace(/\s+/g, ' ')
    expect(told)
      .to.include('Sea gains a subpage')
      .and.include('Land loses a subpage')
      .and.include('Orca gains a backlink')
      .and.include('Whales moves below Oceans, Sea.')
      .and.include('Whales is no longer below Land.')
      .and.include('The path of 1 node below it also changes.')
      .and.include(`1 link points to a missing page: ${none}.`)
      .and.include('2 of these links will be public.')
      .and.include('1 of these links will no longer be public.')
    expect(faults).to.deep.equal([])
    await context.close()
  })

  it('is left out with a word if the service refuses it; a fault stays a fault', async () => {
    const path = { org_id: 'o', node_id: 'n', number: 1 }
    const failing = (error: Error) => ({ getPullImpact: () => Promise.reject(error) }) as Partial<Api> as Api // all it asks
    const impact = await readPullImpact(failing(new AppError('busy', 'The service is busy')), path)
    const shown = { urls: new Urls('', ''), org: 'o', title: 'Whales', impact }
    expect(render(h(ProposedImpact, shown))).to.include('The changes of links could not be loaded.')
    const fault = new Error('A fault')
    expect(await readPullImpact(failing(fault), path).catch((error) => error)).to.equal(fault)
  })
})
