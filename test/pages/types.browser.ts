/** Types in a browser: somebody who has never seen JSON defines one, with and without script. */

import { expect } from 'chai'
import type { Page } from 'playwright-core'
import { made } from '../support/cast.ts'
import { pageAt } from '../support/pages.ts'
import { ann, expectSound, newVisitor, reached, signIn, useScene, type Visitor } from './scene.ts'

/** The row of a field or a link, from 0. */
const row = (page: Page, at: string) => page.locator(`#${at}`)

const rangeWords = (text: string) => text.replace(/\s+/g, ' ').trim()

/** The least distance of neighbours on the page, from the bottom of one to the top of the next. */
const leastGap = (page: Page) =>
  page.locator('main > :is(p, .problem)').evaluateAll((all) =>
    Math.min(
      ...all.flatMap((one) => {
        const next = one.nextElementSibling
        return next ? [next.getBoundingClientRect().top - one.getBoundingClientRect().bottom] : []
      }),
    ),
  )

async function describeFields(page: Page): Promise<void> {
  const serves = row(page, 'f0')
  await serves.getByLabel('Name').fill('serves')
  await serves.getByText('Title, help, range, first value').click()
  await serves.getByLabel('Title').fill('Serves')
  for (const [kind, unit] of [
    ['List of texts', 'items of a list'],
    ['Text', 'characters of a text'],
  ] as const) {
    await serves.getByLabel('Kind', { exact: true }).selectOption(kind)
    expect(rangeWords(await serves.locator('.of-range').innerText())).to.equal(`Minimum ${unit} Maximum ${unit}`)
  }
  await serves.getByLabel('Kind', { exact: true }).selectOption('Whole number')
  await serves.getByLabel('Required').check()
  expect(rangeWords(await serves.locator('.of-range').innerText())).to.equal('Minimum Maximum')
  await serves.getByLabel('Minimum').fill('1')
  await serves.getByLabel('New pages begin with').fill('4')
  await page.getByRole('button', { name: 'Add a field' }).click()
  const course = row(page, 'f1')
  await course.getByLabel('Name').fill('course')
  expect(await course.getByLabel('Choices').isVisible()).to.equal(false)
  await course.getByLabel('Kind', { exact: true }).selectOption('Choice')
  await course.getByLabel('Choices').fill('starter\nmain')
  await course.getByRole('button', { name: /^Move up/ }).click()
  expect(await row(page, 'f0').getByLabel('Name').inputValue()).to.equal('course')
}

async function describeLink(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Add a link' }).click()
  await row(page, 'c0').getByLabel('Name').fill('written_by')
  await row(page, 'c0').getByLabel('Leads to').fill('Person')
  await row(page, 'c0').getByText('Title, title at the other page').click()
  await row(page, 'c0').getByLabel('Title', { exact: false }).first().fill('Author')
  await row(page, 'c0').getByLabel('At most').fill('1')
}

describe('types in a browser', () => {
  useScene()

  for (const javaScriptEnabled of [true, false])
    describe(javaScriptEnabled ? 'with script' : 'without script', () => {
      let visitor: Visitor
      let org: string
      beforeEach(async () => {
        org = (await made(ann.post('/orgs', { name: 'Atlas' }))).id
        await made(ann.put(`/orgs/${org}/types/person`, { definition: { title: 'Person' } }))
        const properties = { type: 'recipe', serves: 'four' }
        await made(ann.post(`/orgs/${org}/nodes`, { title: 'Borscht', properties }))
        visitor = await newVisitor({ javaScriptEnabled })
        await signIn(visitor)
      })
      afterEach(() => visitor.context.close())

      const definition = async () => (await made(ann.get(`/orgs/${org}/types/recipe`))).definition
      const check = async (page: Page) => {
        for (const width of javaScriptEnabled ? [390, 1280] : []) {
          await page.setViewportSize({ width, height: 900 })
          await expectSound(page)
        }
      }

      it('have room between a notice and what follows it', async () => {
        const { page, open } = visitor
        const path = `${pageAt((await made(ann.post('/orgs', { name: 'Empty' }))).id)}/settings/types`
        await open(path)
        await page.getByText('Each page of a type').waitFor()
        expect(await leastGap(page)).to.be.at.least(8)
        // Somebody else changes the type while the form is open.
        await open(`${pageAt(org)}/settings/types/person`)
        await made(ann.put(`/orgs/${org}/types/person`, { definition: { title: 'Human' } }))
        await page.getByRole('button', { name: 'Save type' }).click()
        await page.locator('main > .problem').waitFor()
        expect(await leastGap(page)).to.be.at.least(8)
      })

      it('are defined, checked, saved, changed and deleted', async () => {
        const { page, open } = visitor
        await open(`${pageAt(org)}/settings/general`)
        await page.getByLabel('Settings').getByRole('link', { name: 'Types' }).click()
        await page.getByLabel('Define the type recipe').click()
        await reached(page, 'New type')
        await describeFields(page)
        await describeLink(page)
        await check(page)
        // The Enter key checks, and saves nothing.
        await page.locator('#title').press('Enter')
        await page.getByText('1 page would newly break a rule.').waitFor()
        await page.getByRole('link', { name: 'Borscht' }).waitFor()
        await check(page)
        await page.getByRole('button', { name: 'Save type' }).click()
        await page.getByText('Saved.').waitFor()
        expect(await definition()).to.deep.equal({
          title: 'Recipe',
          schema: {
            properties: {
              course: { type: 'string', enum: ['starter', 'main'] },
              serves: { type: 'integer', title: 'Serves', minimum: 1 },
            },
            required: ['serves'],
          },
          connections: { written_by: { title: 'Author', to: ['person'], max: 1 } },
          template: { properties: { serves: 4 } },
        })
        await page.getByRole('button', { name: 'Remove the field: course' }).click()
        await page.getByText('Advanced').click()
        await page.getByLabel('Strict').check()
        await page.getByRole('button', { name: 'Edit as JSON' }).click()
        await check(page)
        await page.getByRole('button', { name: 'Edit as a form' }).click()
        expect(await page.getByLabel('Strict').isChecked()).to.equal(true)
        await page.getByRole('button', { name: 'Save type' }).click()
        await page.getByText('Saved.').waitFor()
        const saved = await definition()
        expect([Object.keys(saved.schema.properties), saved.enforcement]).to.deep.equal([['serves'], 'strict'])
        await page.getByText('Delete…').click()
        await page.getByText('1 page has this type. They keep').waitFor()
        await page.getByRole('button', { name: 'Delete type' }).click()
        await page.getByText('The type was deleted.').waitFor()
        expect(visitor.faults).to.deep.equal([])
      })
    })
})
