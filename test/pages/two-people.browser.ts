/**
 * Two users take a proposal from the first word to the merge, by keyboard and mouse. With `PICTURES=DIR`, each step is
 * also a picture at two widths, light and dark.
 */

import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { made } from '../support/cast.ts'
import { pageAt } from '../support/pages.ts'
import { type PersonClient, signUp } from '../support/people.ts'
import { ann, expectSound, grove, newVisitor, signIn, useScene, type Visitor } from './scene.ts'

const text = `# Blue whales

The blue whale is the largest animal known.

It eats fish and krill.

Blue whales live alone or in pairs.
`

describe('two people in one proposal', () => {
  useScene()
  const pictures = process.env.PICTURES
  let bob: PersonClient
  let at: string
  let path: string
  let anns: Visitor
  let bobs: Visitor

  const commit = (content: string, message: string) =>
    made(ann.post(`${at}/tree/draft/commits`, { message, changes: [{ action: 'put', path: 'content.md', content }] }))

  /** Checks the page, and takes its pictures. */
  const shown = async ({ page }: Visitor, step: string) => {
    await expectSound(page)
    if (pictures === undefined) return
    await mkdir(pictures, { recursive: true })
    for (const colorScheme of ['light', 'dark'] as const)
      for (const width of [390, 1440]) {
        await page.emulateMedia({ colorScheme })
        await page.setViewportSize({ width, height: 900 })
        await page.evaluate('scrollTo(0, 0)')
        await page.screenshot({ path: join(pictures, `${step}-${colorScheme}-${width}.png`), fullPage: true })
      }
    await page.emulateMedia({ colorScheme: null })
    await page.setViewportSize({ width: 1280, height: 900 })
  }

  before(async () => {
    bob = await signUp(grove, 'Bob')
    await made(ann.put(`/orgs/${ann.org}/members/${bob.user.email}`, { role: 'editor' }))
    const { id } = await made(ann.post(`/orgs/${ann.org}/nodes`, { title: 'Blue whales', text_content: text }))
    at = `/orgs/${ann.org}/nodes/${id}`
    path = `${pageAt(ann.org, id)}/proposals/1`
    anns = await newVisitor()
    bobs = await newVisitor()
    await signIn(anns, ann)
    await signIn(bobs, bob)
  })
  after(async () => {
    await anns?.context.close()
    await bobs?.context.close()
  })

  it('begins with a proposal that asks for a review, which the other finds at home', async () => {
    await made(ann.post(`${at}/branches`, { name: 'draft' }))
    await commit(text.replace('fish and krill', 'krill, and some fish'), 'Say what they eat')
    const description = 'Krill is nearly all they eat.'
    await made(ann.post(`${at}/pull-requests`, { source_branch: 'draft', title: 'Reword their food', description }))
    await anns.open(path)
    await anns.page.getByText('Ask for a review').click()
    await anns.page.getByLabel('Bob').check()
    const [ask, merge] = await Promise.all(
      ['Ask', 'Merge'].map((name) => anns.page.getByRole('button', { name, exact: true }).boundingBox()),
    )
    expect((merge?.y ?? 0) - (ask?.y ?? 0) - (ask?.height ?? 0), 'between Ask and Merge').to.be.above(4)
    await anns.page.getByRole('button', { name: 'Ask', exact: true }).click()
    await anns.page.getByText('Waiting for').first().waitFor()
    await shown(anns, '1-proposed')
    await bobs.open('/')
    await bobs.page.getByText('asks for your review').waitFor()
    await shown(bobs, '2-waiting')
    await bobs.page.getByRole('link', { name: 'Reword their food' }).click()
    await bobs.page.getByRole('heading', { name: 'Reword their food' }).waitFor()
  })

  it('has a comment on a line, and a request for changes', async () => {
    const { page } = bobs
    await bobs.open(`${path}?tab=changes&at=content.md:5#new`)
    await page.getByRole('textbox', { name: 'Comment', exact: true }).fill('"Some fish" needs a source, @Ann.')
    await shown(bobs, '3-commenting')
    await page.getByRole('button', { name: 'Comment', exact: true }).click()
    await page.locator('.thread').getByText('needs a source').waitFor()
    await page.getByLabel('Ask for changes').check()
    await page.getByLabel('What do you think of it?').fill('Good, once there is a source.')
    await page.getByRole('button', { name: 'Submit' }).click()
    await page.getByText('asks for changes').first().waitFor()
    await shown(bobs, '4-asked')
  })

  it('is answered, and changed', async () => {
    const { page } = anns
    await anns.open('/')
    await page.getByText('mentions you').waitFor()
    await page.getByRole('link', { name: 'Reword their food' }).click()
    await page.getByLabel('Reply').first().fill('You are right: almost only krill.')
    await page.getByRole('button', { name: 'Reply', exact: true }).first().click()
    await page.getByText('You are right').waitFor()
    await shown(anns, '5-answered')
    await commit(text.replace('fish and krill', 'almost only krill'), 'Leave out the fish')
  })

  it('shows what has changed since the review, is approved, and is merged', async () => {
    const { page } = bobs
    await bobs.open('/')
    await page.getByText('has an answer for you').waitFor()
    await page.getByRole('link', { name: 'Reword their food' }).click()
    await page
      .getByRole('link', { name: /What changed since/ })
      .first()
      .click()
    expect(await page.locator('main').textContent()).to.include('almost only krill')
    await shown(bobs, '6-since')
    await bobs.open(path)
    await page.getByRole('button', { name: 'Resolve' }).first().click()
    await page.getByRole('link', { name: /open thread/ }).waitFor({ state: 'detached' })
    await page.getByLabel('Approve').check()
    await page.getByRole('button', { name: 'Submit' }).click()
    await page.getByText('approved').first().waitFor()
    await shown(bobs, '7-approved')
    await anns.open('/')
    await anns.page.getByText('ready to merge').waitFor()
    await anns.page.getByRole('link', { name: 'Reword their food' }).click()
    await anns.page.getByRole('button', { name: 'Merge', exact: true }).click()
    await anns.page.getByRole('heading', { name: 'Merged' }).waitFor()
    await shown(anns, '8-merged')
    expect([...anns.faults, ...bobs.faults]).to.deep.equal([])
  })

  it('is in the ledger, word for word', async () => {
    const { entries } = await made(ann.get(`${at}/pull-requests/1/timeline`))
    expect(
      entries.map(
        (one: Record<string, Record<string, string>>) => one.comment?.text ?? one.review?.verdict ?? one.event?.event,
      ),
    ).to.deep.equal([
      'request_review',
      '"Some fish" needs a source, @Ann.',
      'request_changes',
      'You are right: almost only krill.',
      'approve',
      'merge',
    ])
  })
})
