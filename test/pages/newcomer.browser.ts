/** Newcomers: one begins with nothing, and one mends a typo in an organisation of others, which is then published. */

import { expect } from 'chai'
import { made } from '../support/cast.ts'
import { pageAt } from '../support/pages.ts'
import { password, signUp } from '../support/people.ts'
import { ann, expectSound, grove, newVisitor, reached, signIn, useScene, type Visitor } from './scene.ts'

describe('a newcomer', () => {
  useScene()
  let org: string
  let newcomer: Visitor
  let owner: Visitor
  let telephone: Visitor
  let proposal: string
  let node: string

  before(async () => {
    org = (await made(ann.post('/orgs', { name: 'Garden' }))).id
    for (const [title, text_content] of [
      ['Roses', 'Roses like sun.'],
      ['Spring', 'In sprnig spread compost under the [[Roses]].'],
    ])
      await made(ann.post(`/orgs/${org}/nodes`, { title, text_content }))
    const eva = await signUp(grove, 'Eva')
    await made(ann.put(`/orgs/${org}/members/${eva.user.email}`, { role: 'editor' }))
    newcomer = await newVisitor()
    owner = await newVisitor()
    telephone = await newVisitor({ viewport: { width: 390, height: 844 } })
    await signIn(newcomer, eva)
    await signIn(owner)
  })
  after(async () => {
    for (const visitor of [newcomer, owner, telephone]) await visitor?.context.close()
  })

  const press = ({ page }: Visitor, name: string) => page.getByRole('button', { name, exact: true }).click()

  it('finds a page by search, mends a typo and proposes it', async () => {
    const { page, open } = newcomer
    await open('/')
    await page
      .locator('main')
      .getByRole('link', { name: /^Garden/ })
      .click()
    await reached(page, 'Garden')
    await page.keyboard.press('/')
    await page.keyboard.type('compost')
    await page.getByRole('option', { name: 'Spring' }).waitFor()
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    await reached(page, 'Spring')
    node = page.url()
    await page.getByRole('link', { name: 'Edit', exact: true }).click()
    await page.locator('.cm-content').click()
    await page.keyboard.press('Control+A')
    await page.keyboard.insertText('In spring spread compost under the [[Roses]].')
    await page.getByLabel('Summary').fill('Mend a typo')
    await press(newcomer, 'Propose changes')
    await page.getByRole('heading', { name: 'Mend a typo #1' }).waitFor()
    proposal = page.url()
    expect(await page.locator('.diff ins').allTextContents()).to.deep.equal(['spring'])
  })

  it('sees it once the owner has merged it', async () => {
    await owner.page.goto(proposal)
    await press(owner, 'Merge')
    await owner.page.getByRole('heading', { name: 'Merged' }).waitFor()
    await newcomer.page.goto(node)
    await newcomer.page.locator('.prose').getByText('In spring spread').waitFor()
  })

  it('shares the address, which anyone reads on a telephone once it is published', async () => {
    const { page } = telephone
    expect((await page.goto(node))?.status()).to.equal(401)
    await owner.open(`${pageAt(org)}/settings/general`)
    await owner.page.getByText('Publish…').click()
    await press(owner, 'Publish')
    await owner.page.getByText('Published: anyone').waitFor()
    expect((await page.goto(node))?.status()).to.equal(200)
    await expectSound(page)
    await page.locator('.prose').getByRole('link', { name: 'Roses' }).click()
    await reached(page, 'Roses')
    await page.getByRole('link', { name: 'Spring' }).first().click()
    await reached(page, 'Spring')
    for (const { faults } of [newcomer, owner, telephone]) expect(faults).to.deep.equal([])
  })
})

describe('a newcomer who begins with nothing', () => {
  useScene()
  let newcomer: Visitor

  before(async () => {
    newcomer = await newVisitor({ viewport: { width: 390, height: 844 } })
  })
  after(() => newcomer?.context.close())

  it('comes from the welcome to an organisation, and looks around the example', async () => {
    const { page, open } = newcomer
    await open('/')
    const picture = page.getByRole('img', { name: /A page about baleen whales/ })
    await picture.waitFor()
    expect(await picture.count(), 'pictures that are displayed').to.equal(1)
    await page.getByRole('link', { name: 'Create an account' }).click()
    await page.getByLabel('E-mail').fill('nora@example.org')
    await page.getByLabel('Name').fill('Nora')
    await page.getByLabel('Password').fill(password)
    await page.getByRole('button', { name: 'Sign up' }).click()
    await reached(page, 'Nora')
    await page.getByText('This is your own organisation').waitFor()
    await expectSound(page)
    await page.getByRole('button', { name: 'Create the example' }).click()
    await page.getByRole('heading', { name: 'Welcome to Grove' }).waitFor()
    await expectSound(page)
    await page.getByRole('article').getByRole('link', { name: 'Proposals' }).first().click()
    await reached(page, 'Proposals')
    await expectSound(page)
  })

  it('mends the mistake of the example as its page says', async () => {
    const { page } = newcomer
    await page.getByRole('link', { name: 'Edit', exact: true }).click()
    await page.locator('.cm-content').click()
    await page.keyboard.press('Control+A')
    await page.keyboard.insertText('A whale is the largest mammal in the sea.')
    await page.getByRole('button', { name: 'Propose changes' }).click()
    await page.getByRole('heading', { name: /#1$/ }).waitFor()
    await page.getByRole('button', { name: 'Merge', exact: true }).click()
    await page.getByRole('heading', { name: 'Merged' }).waitFor()
    await page.getByRole('link', { name: 'Nora', exact: true }).first().click()
    await reached(page, 'Nora')
    await page.getByText('Nora created 5 pages').waitFor()
    await page.getByRole('link', { name: 'Changes', exact: true }).click()
    await reached(page, 'Recent changes')
    expect(await page.locator('.lines li').count()).to.equal(6)
  })

  it('writes a first page in another organisation, with only the keyboard', async () => {
    const { page, open, faults } = newcomer
    await open('/new')
    await page.getByLabel('Name').fill('Garden')
    await page.keyboard.press('Enter')
    await reached(page, 'Garden')
    await page.keyboard.press('n')
    await reached(page, 'New page')
    await page.locator('.cm-content').waitFor()
    await page.keyboard.type('Roses')
    await page.keyboard.press('Control+Enter')
    await reached(page, 'Roses')
    expect(faults).to.deep.equal([])
  })

  it('sees the picture that fits the colours, also after a change of them', async () => {
    const visitor = await newVisitor({ colorScheme: 'dark' })
    const { page, open } = visitor
    await open('/')
    const shown = () => page.getByRole('img', { name: /A page about baleen whales/ }).getAttribute('src')
    expect(await shown()).to.include('welcome-dark')
    await page.getByRole('button', { name: 'Switch between light and dark' }).click()
    await page.locator('img[src*=welcome-light]').waitFor()
    expect(await shown()).to.include('welcome-light')
    await visitor.context.close()
  })
})
