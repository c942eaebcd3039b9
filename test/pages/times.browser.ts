/** Times in the zone of the reader, and without script those of UTC. */

import { expect } from 'chai'
import type { Page } from 'playwright-core'
import { gitIn } from '../support/git.ts'
import { newNode, type TestNode } from '../support/node.ts'
import { pageAt } from '../support/pages.ts'
import { ann, expectSound, grove, newVisitor, signIn, useScene } from './scene.ts'

/** Commits in seconds since 1970: near midnight in several zones, and on the day when clocks change in Europe. */
const moments = [
  '2023-10-29T00:30:00Z',
  '2023-10-29T01:30:00Z',
  '2023-12-31T09:59:00Z',
  '2023-12-31T10:01:00Z',
  '2023-12-31T23:59:59Z',
  '2024-01-01T00:00:00Z',
].map((time) => Date.parse(time) / 1000)

describe('times on pages', () => {
  useScene()
  let node: TestNode

  before(async () => {
    node = await newNode(grove, ann, { text_content: 'Whales.\n' })
    const git = gitIn(grove, node.org, node.id)
    let parent = git.head()
    for (const at of moments) parent = git.commit({ parents: [parent], at, message: `At ${at}` })
    git.point('main', parent)
  })

  const daysOf = (page: Page) =>
    page.locator('.days section').evaluateAll((sections) =>
      sections.map((section) => ({
        day: section.querySelector('h2')?.textContent,
        times: [...section.querySelectorAll('time')].map(({ textContent }) => textContent),
      })),
    )

  /** The days of the history by the clock of Node, newest first. The first commit is of today. */
  const expectedIn = (timeZone: string, end = '') => {
    const show = (at: number, options: Intl.DateTimeFormatOptions) =>
      new Intl.DateTimeFormat('en-GB', { timeZone, ...options }).format(at * 1000)
    const days: { day: string; times: string[] }[] = []
    for (const at of moments.toReversed()) {
      const day = show(at, { day: 'numeric', month: 'short', year: 'numeric' })
      const time = show(at, { hour: '2-digit', minute: '2-digit' }) + end
      if (days.at(-1)?.day === day) days.at(-1)?.times.push(time)
      else days.push({ day, times: [time] })
    }
    return days
  }

  for (const timezoneId of ['UTC', 'Europe/Berlin', 'Pacific/Kiritimati', 'Pacific/Honolulu', 'Asia/Kathmandu'])
    it(`group the history by the days of ${timezoneId}`, async () => {
      const visitor = await newVisitor({ timezoneId })
      await signIn(visitor)
      await visitor.open(`${pageAt(node.org, node.id)}/history`)
      const newest = expectedIn(timezoneId)[0]?.times[0] ?? ''
      await visitor.page.locator('.days time').getByText(newest, { exact: true }).first().waitFor()
      expect((await daysOf(visitor.page)).slice(0, -1)).to.deep.equal(expectedIn(timezoneId))
      await expectSound(visitor.page)
      expect(visitor.faults).to.deep.equal([])
      await visitor.context.close()
    })

  it('are those of UTC without script', async () => {
    const visitor = await newVisitor({ javaScriptEnabled: false, timezoneId: 'Pacific/Honolulu' })
    await signIn(visitor)
    await visitor.open(`${pageAt(node.org, node.id)}/history`)
    expect((await daysOf(visitor.page)).slice(0, -1)).to.deep.equal(expectedIn('UTC', ' UTC'))
    await visitor.open(pageAt(node.org, node.id))
    const time = visitor.page.locator('.meta time').first()
    const { body } = await ann.get(node.at)
    const [day, clock] = [new Date(body.updated_at).toUTCString().slice(5, 16), body.updated_at.slice(11, 16)]
    expect(await time.textContent()).to.equal(`on ${day.replace(/^0/, '')}`)
    expect(await time.getAttribute('title')).to.equal(`${day.replace(/^0/, '')}, ${clock} UTC`)
    await visitor.context.close()
  })

  it('say how long ago a change was, and the date after a week', async () => {
    const { org, id } = await newNode(grove, ann, { text_content: 'Krill.\n' })
    const { body } = await ann.get(`/orgs/${org}/nodes/${id}`)
    const visitor = await newVisitor({ timezoneId: 'Asia/Kathmandu' })
    const { page, context } = visitor
    await signIn(visitor)
    const said: string[] = []
    const hour = 60
    for (const minutes of [0, 5, 3 * hour, 24 * 3 * hour, 24 * 6 * hour, 24 * 8 * hour]) {
      await page.clock.setFixedTime(Date.parse(body.updated_at) + minutes * 60_000)
      await visitor.open(pageAt(org, id))
      await page.locator('time[title*=" at "]').first().waitFor()
      said.push((await page.locator('.meta').getByRole('link', { name: 'edited this' }).textContent()) ?? '')
    }
    const date = new Intl.DateTimeFormat('en-GB', {
      timeZone: 'Asia/Kathmandu',
      ...({ day: 'numeric', month: 'short', year: 'numeric' } as const),
    }).format(Date.parse(body.updated_at))
    const times = ['seconds ago', '5 minutes ago', '3 hours ago', '3 days ago', '6 days ago', `on ${date}`]
    expect(said).to.deep.equal(times.map((time) => `Ann edited this ${time}`))
    await context.close()
  })
})
