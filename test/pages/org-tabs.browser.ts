/** The tabs of an organisation on small screens, without script. */

import { expect } from 'chai'
import { made } from '../support/cast.ts'
import { pageAt } from '../support/pages.ts'
import { ann, newVisitor, signIn, useScene } from './scene.ts'

describe('the tabs of an organisation', () => {
  useScene()

  it('show the current one on small screens, without script', async () => {
    const org = (await made(ann.post('/orgs', { name: 'Atlas' }))).id
    const node = `/orgs/${org}/nodes/${(await made(ann.post(`/orgs/${org}/nodes`, { title: 'Krill' }))).id}`
    for (const name of ['one', 'two']) {
      await made(ann.post(`${node}/branches`, { name }))
      await made(ann.post(`${node}/pull-requests`, { source_branch: name, title: name }))
    }
    const visitor = await newVisitor({ javaScriptEnabled: false, viewport: { width: 390, height: 800 } })
    const { page } = visitor
    await signIn(visitor)
    const tabs = page.getByRole('navigation', { name: 'Atlas', exact: true })
    const paths = ['', '/proposals', '/changes', '/tags', '/members', '/settings/general']
    for (const width of [320, 390])
      for (const path of paths) {
        await page.setViewportSize({ width, height: 800 })
        await visitor.open(`${pageAt(org)}${path}`)
        const { x = -1, width: wide = 0 } = (await tabs.locator('[aria-current=page]').boundingBox()) ?? {}
        expect(x, `${path} at ${width}`).to.be.at.least(10)
        expect(x + wide, `${path} at ${width}`).to.be.at.most(width - 10)
        expect(await page.evaluate('document.documentElement.scrollWidth')).to.equal(width)
      }
    expect(visitor.faults).to.deep.equal([])
    await visitor.context.close()
  })

  it('and those of its settings show the current one on small screens, without script', async () => {
    const org = (await made(ann.post('/orgs', { name: 'Reef' }))).id
    const visitor = await newVisitor({ javaScriptEnabled: false, viewport: { width: 390, height: 800 } })
    const { page } = visitor
    await signIn(visitor)
    const tabs = page.getByRole('navigation', { name: 'Settings', exact: true })
    for (const width of [320, 390])
      for (const name of ['general', 'members', 'rules', 'bots', 'webhooks', 'audit']) {
        await page.setViewportSize({ width, height: 800 })
        await visitor.open(`${pageAt(org)}/settings/${name}`)
        const { x = -1, width: wide = 0 } = (await tabs.locator('[aria-current=page]').boundingBox()) ?? {}
        expect(x, `${name} at ${width}`).to.be.at.least(10)
        expect(x + wide, `${name} at ${width}`).to.be.at.most(width - 10)
        expect(await page.evaluate('document.documentElement.scrollWidth')).to.equal(width)
      }
    expect(visitor.faults).to.deep.equal([])
    await visitor.context.close()
  })

  it('stay where the visitor scrolls them', async () => {
    const org = (await made(ann.post('/orgs', { name: 'Sea' }))).id
    const visitor = await newVisitor({ viewport: { width: 320, height: 800 } })
    await signIn(visitor)
    await visitor.open(`${pageAt(org)}/settings/general`)
    const tabs = visitor.page.getByRole('navigation', { name: 'Sea', exact: true })
    const left = await tabs.evaluate(async (element) => {
      await Promise.all(element.getAnimations({ subtree: true }).map(({ finished }) => finished))
      const before = element.scrollLeft
      element.scrollLeft = 0
      await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))
      return { before, after: element.scrollLeft }
    })
    expect(left.before).to.be.greaterThan(0)
    expect(left.after).to.equal(0)
    await visitor.context.close()
  })
})
