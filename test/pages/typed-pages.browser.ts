/** Pages of a type in a browser without scripts: add one, mend a broken one, propose a change. */

import { expect } from 'chai'
import { made } from '../support/cast.ts'
import { pageAt } from '../support/pages.ts'
import { ann, newVisitor, signIn, useScene, type Visitor } from './scene.ts'

describe('pages of a type', () => {
  useScene()
  let at: string
  let visitor: Visitor

  before(async () => {
    const { id: org } = await made(ann.post('/orgs', { name: 'Kitchen' }))
    const definition = {
      ...{ title: 'Recipe', plural: 'Recipes' },
      schema: {
        required: ['serves'],
        properties: {
          serves: { type: 'integer', minimum: 1, title: 'Serves' },
          course: { type: 'string', enum: ['soup', 'main'], title: 'Course' },
          due: { type: 'string', format: 'date', title: 'Due' },
          seasons: { type: 'array', items: { type: 'string', enum: ['spring', 'winter'] }, title: 'Seasons' },
        },
      },
      connections: { written_by: { title: 'Author', to: ['person'] } },
    }
    await made(ann.put(`/orgs/${org}/types/recipe`, { definition }))
    await made(ann.put(`/orgs/${org}/types/person`, { definition: { title: 'Person' } }))
    await made(ann.post(`/orgs/${org}/nodes`, { title: 'Olga', properties: { type: 'person' } }))
    await made(ann.post(`/orgs/${org}/nodes`, { title: 'Tart', properties: { type: 'recipe', course: 'cake' } }))
    at = pageAt({ id: org, name: 'Kitchen' })
    visitor = await newVisitor({ javaScriptEnabled: false })
    await signIn(visitor)
  })
  after(() => visitor.context.close())

  it('are added with a form, and listed in the table', async () => {
    const { page, open, faults } = visitor
    await open(`${at}/nodes`)
    await page.getByRole('navigation', { name: 'Types' }).getByRole('link', { name: 'Recipes' }).click()
    await page.getByRole('link', { name: 'New recipe' }).click()
    await page.getByLabel('Title').first().fill('Leek soup')
    await page.getByLabel('Serves').fill('4')
    await page.getByLabel('Course').selectOption('soup')
    await page.getByLabel('Due').fill('2026-12-01')
    await page.getByRole('checkbox', { name: 'winter' }).check()
    await page.getByLabel('Add a page to Author').first().fill('olga')
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByRole('heading', { name: 'Leek soup' }).waitFor()
    const fields = await page.getByRole('region', { name: 'Fields' }).locator('dd').allTextContents()
    expect(fields).to.deep.equal(['Recipe', '4', 'soup', '1 Dec 2026', 'winter', 'Olga'])
    await page.getByRole('region', { name: 'Fields' }).getByRole('link', { name: 'Recipe' }).click()
    expect(await page.locator('tbody th').allTextContents()).to.deep.equal(['Tart', 'Leek soup'])
    expect(faults).to.deep.equal([])
  })

  it('are mended from the list of problems', async () => {
    const { page, open } = visitor
    await open(`${at}/types/recipe`)
    await page.getByRole('link', { name: '1 page with problems' }).click()
    await page.getByRole('link', { name: 'Edit fields of Tart' }).click()
    await page.getByText('Course must be "soup" or "main"; it is the text "cake".').waitFor()
    await page.getByLabel('Serves').fill('8')
    await page.getByLabel('Course').selectOption('main')
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByRole('heading', { name: 'Tart' }).waitFor()
    await open(`${at}/types/recipe/problems`)
    await page.getByText('Every page of this type follows its rules.').waitFor()
  })

  it('have proposals that show each changed field, before and after', async () => {
    const { page, open, faults } = visitor
    await open(`${at}/types/recipe`)
    await page.getByRole('link', { name: 'Tart' }).click()
    await page.getByRole('link', { name: 'Edit fields' }).click()
    await page.getByLabel('Serves').fill('12')
    await page.getByRole('button', { name: 'Propose changes' }).click()
    const changed = page.getByRole('region', { name: 'Changed fields' })
    expect(await changed.locator('tbody :is(th, td)').allTextContents()).to.deep.equal(['Serves', '8', '12'])
    expect(faults).to.deep.equal([])
  })
})
