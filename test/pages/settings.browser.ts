/** Settings as pages, all without script: to begin, publish, add members, make tokens, set a password. */

import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'
import type { Locator } from 'playwright-core'
import { made } from '../support/cast.ts'
import { pageAt, withoutWords } from '../support/pages.ts'
import { client, password, signUp } from '../support/people.ts'
import { ann, grove, newVisitor, signIn, useScene, type Visitor } from './scene.ts'

/** The error that the page shows for a control. The control's name does not have it. */
async function toldOf(control: Locator): Promise<string | null> {
  const id = await control.getAttribute('aria-describedby')
  return control.page().locator(`.field > [id="${id}"]`).textContent()
}

describe('pages of settings', () => {
  useScene()
  let org: string
  let visitor: Visitor

  before(async () => {
    org = (await made(ann.post('/orgs', { name: 'Atlas' }))).id
    await signUp(grove, 'Bob')
    visitor = await newVisitor({ javaScriptEnabled: false })
    await signIn(visitor)
  })
  after(() => visitor.context.close())

  it('let a user begin', async () => {
    const { page, open } = visitor
    await open('/')
    await page.locator('main').getByRole('link', { name: 'New organisation' }).click()
    await page.getByLabel('Name').fill('Sea\u00a0')
    await page.getByLabel('Description').fill('What lives\nin it.')
    await page.getByRole('button', { name: 'Create' }).click()
    expect(await page.locator('h1').textContent()).to.equal('Sea')
    await page.getByRole('link', { name: 'Settings' }).click()
    expect(await page.getByLabel('Description').inputValue()).to.equal('What lives\nin it.')
    expect((await client(grove).get('/new')).status).to.equal(401)
  })

  it('keep what was typed, and say beside the field what is wrong', async () => {
    const { page, open } = visitor
    await open(`${pageAt(org)}/settings/general`)
    const name = page.getByRole('textbox', { name: 'Name', exact: true })
    await name.fill('   ')
    await page.getByLabel('Description').fill('All about the sea.')
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    expect(await toldOf(name)).to.equal('This must not be empty.')
    expect(await name.getAttribute('aria-invalid')).to.equal('true')
    expect(await page.locator(':focus').getAttribute('name')).to.equal('name')
    expect(await page.getByLabel('Description').inputValue()).to.equal('All about the sea.')
    await name.fill('Atlas of the sea')
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByText('Saved.').waitFor()
    const kept = await made(ann.get(`/orgs/${org}`))
    expect([kept.name, kept.description]).to.deep.equal(['Atlas of the sea', 'All about the sea.'])
  })

  it('publish for anyone, and end it with the next request', async () => {
    const { page, open } = visitor
    const { id: node } = await made(ann.post(`/orgs/${org}/nodes`, { title: 'Whales' }))
    const paths = [...['', '/changes.atom', '/sitemap.xml'].map((path) => pageAt(org) + path), pageAt(org, node)]
    const statuses = () => Promise.all(paths.map(async (path) => (await fetch(grove.url + path)).status))
    const closed = await statuses()
    expect(closed.every((status) => [401, 404].includes(status))).to.equal(true)
    await open(`${pageAt(org)}/settings/general`)
    await page.getByText('Publish…').click()
    await page.getByRole('button', { name: 'Publish', exact: true }).click()
    expect(withoutWords((await page.locator('.copy a').textContent()) ?? '')).to.equal(`${grove.url}${pageAt(org)}`)
    expect(await statuses()).to.deep.equal(paths.map(() => 200))
    await page.getByText('Unpublish…').click()
    await page.getByRole('button', { name: 'Unpublish', exact: true }).click()
    expect(await statuses()).to.deep.equal(closed)
  })

  it('leave 12 pixels between a sentence and what is below it', async () => {
    const { page, open } = visitor
    for (const path of ['general', 'members', 'rules', 'rules?rule=new', 'bots', 'webhooks', 'types', '../trash']) {
      await open(`${pageAt(org)}/settings/${path}`)
      const gaps = await page.locator('main p:not(.legend, .field *)').evaluateAll((all) =>
        all.flatMap((one) => {
          const next = one.nextElementSibling
          return next?.checkVisibility() && one.checkVisibility()
            ? [Math.round(next.getBoundingClientRect().top - one.getBoundingClientRect().bottom)]
            : []
        }),
      )
      expect(Math.min(12, ...gaps), path).to.equal(12)
    }
  })

  it('make the rule that texts change by proposals', async () => {
    const { page, open } = visitor
    for (const isOn of [true, false]) {
      await open(`${pageAt(org)}/settings/general`)
      await page.getByLabel(isOn ? /^Only propose / : /^Publish /).check()
      await page.getByRole('button', { name: 'Save rule' }).click()
      expect((await made(ann.get(`/orgs/${org}`))).require_pull_requests).to.equal(isOn)
    }
  })

  it('add members, change what they may do, and let them go, but for the last owner', async () => {
    const { page, open } = visitor
    const roles = async () => {
      const { members } = await made(ann.get(`/orgs/${org}/members`))
      return members.map(({ name, role }: Record<string, string>) => `${name} ${role}`)
    }
    await open(`${pageAt(org)}/settings/members`)
    await page.getByText('Add member…').click()
    await page.locator('#add-email').fill('nobody@example.org')
    await page.getByRole('button', { name: 'Add' }).click()
    await page.getByRole('alert').waitFor()
    expect(await page.locator('#add-email').inputValue()).to.equal('nobody@example.org')
    await page.locator('#add-email').fill('bob@example.org')
    await page.getByRole('button', { name: 'Add' }).click()
    expect(await roles()).to.deep.equal(['Ann owner', 'Bob editor'])
    await page.getByLabel('Role of Bob', { exact: true }).selectOption('maintainer')
    await page.getByRole('button', { name: 'Change the role of Bob' }).click()
    expect(await roles()).to.deep.equal(['Ann owner', 'Bob maintainer'])
    await page.getByText('Leave…').click()
    await page.getByRole('button', { name: 'Leave' }).click()
    expect(await page.getByRole('alert').textContent()).to.equal(
      'An organisation must have an owner; make another member an owner first.',
    )
    await page.getByText('Remove…').click()
    await page.getByRole('button', { name: 'Remove Bob' }).click()
    expect(await roles()).to.deep.equal(['Ann owner'])
  })

  it('show a token once; git clones with it until it is revoked', async () => {
    const { page, open } = visitor
    const { id: node } = await made(ann.post(`/orgs/${org}/nodes`, { title: 'Krill' }))
    await open('/me/tokens')
    await page.getByLabel('Name').fill('Laptop')
    await page.getByText('More options').click()
    await page.locator('select[name=org_id]').selectOption(org)
    await page.getByRole('textbox', { name: 'Node' }).fill('none')
    await page.getByRole('button', { name: 'Create' }).click()
    await page.getByRole('alert').waitFor()
    expect(await page.getByLabel('Name').inputValue()).to.equal('Laptop')
    await page.getByRole('textbox', { name: 'Node' }).fill(node)
    await page.getByRole('button', { name: 'Create' }).click()
    const secret = (await page.locator('[data-token]').textContent()) ?? ''
    expect(secret).to.match(/^grv_\w{43}$/)
    const [git = '', curl = ''] = (await page.locator('.made .copy').allTextContents()).slice(1)
    const folder = await mkdtemp(join(tmpdir(), 'grove-test-'))
    try {
      const run = (line: string) => promisify(execFile)('sh', ['-c', line], { cwd: folder })
      await run(`${git} krill`)
      expect(JSON.parse((await run(`${curl} -s`)).stdout).title).to.equal('Krill')
      await open('/me/tokens')
      expect(await page.content()).not.to.include(secret)
      await page.getByText('Revoke…').click()
      await page.getByRole('button', { name: 'Revoke Laptop' }).click()
      expect((await client(grove, secret).get(`/orgs/${org}/nodes/${node}`)).status).to.equal(401)
      const refused = await run(`GIT_TERMINAL_PROMPT=0 ${git} again`).catch(({ stderr }) => stderr)
      expect(refused)
        .to.be.a('string')
        .and.match(/401|Authentication failed|could not read Username/)
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  })

  it('create a token that proposes, for an agent', async () => {
    const { page, open } = visitor
    await open('/me/tokens')
    await page.getByLabel('Name').fill('Agent')
    const access = page.getByRole('radiogroup', { name: /propose, or publish/ })
    expect(await access.getByLabel(/^Propose /).isChecked()).to.equal(true)
    expect(await access.textContent()).to.include('For an assistant')
    await page.getByRole('button', { name: 'Create' }).click()
    const agent = client(grove, (await page.locator('[data-token]').textContent()) ?? '')
    expect(await page.locator('li', { hasText: 'Agent' }).textContent()).to.include('can propose in all')
    const { id } = await made(ann.post(`/orgs/${org}/nodes`, { title: 'Plankton' }))
    const branches = `/orgs/${org}/nodes/${id}/branches`
    await made(agent.post(branches, { name: 'agent/drift' }))
    expect((await agent.post(branches, { name: 'drift' })).body).to.include({
      code: 'token_scope',
      token_access: 'propose',
      branch_prefix: 'agent/',
    })
  })

  it('set a new password and end the other sessions', async () => {
    const cleo = await signUp(grove, 'Cleo')
    const [here, there] = [await newVisitor({ javaScriptEnabled: false }), await newVisitor()]
    await signIn(here, cleo)
    await signIn(there, cleo)
    await here.open('/me/sessions')
    await here.page.getByText('Sign out everywhere else…').click()
    await here.page.getByRole('button', { name: 'Sign out everywhere else' }).click()
    await here.page.getByText('All other sessions have ended.').waitFor()
    expect(await there.open('/me/password')).to.deep.equal({ status: 401 })
    await here.open('/me/password')
    await here.page.getByLabel('Current password').fill('not this one')
    await here.page.getByLabel('New password').fill('staple the horse')
    await here.page.getByRole('button', { name: 'Change password' }).click()
    expect(await here.page.getByRole('alert').textContent()).to.equal('This is not your current password.')
    await here.page.getByLabel('Current password').fill(password)
    await here.page.getByLabel('New password').fill('staple the horse')
    await here.page.getByRole('button', { name: 'Change password' }).click()
    await here.page.getByText('Your password was changed.').waitFor()
    expect(await here.open('/me/tokens')).to.deep.equal({ status: 200 })
    for (const one of [here, there]) await one.context.close()
  })

  it('invite a user by a link that is shown once, and take an invitation back', async () => {
    const dora = await signUp(grove, 'Dora')
    const invited = await newVisitor({ javaScriptEnabled: false })
    await signIn(invited, dora)
    const { page, open } = visitor
    await open(`${pageAt(org)}/settings/members`)
    const invite = () => page.getByRole('button', { name: 'Create invitation' }).click()
    await page.getByRole('main').getByLabel('Read only').first().check()
    await invite()
    const link = (await page.locator('[data-token]').textContent()) ?? ''
    expect(link).to.match(/#token=grv_invite_[\w-]{43}$/)
    await open(`${pageAt(org)}/settings/members`)
    expect(await page.content()).not.to.include('#token=')
    await invite()
    const other = (await page.locator('[data-token]').textContent()) ?? ''
    await page.getByRole('button', { name: 'Revoke' }).last().click()
    await invited.open('/')
    await invited.page.getByRole('link', { name: 'Use an invitation' }).click()
    const typed = invited.page.getByLabel('Invitation')
    for (const wrong of [other, 'none']) {
      await typed.fill(wrong)
      await invited.page.getByRole('button', { name: 'Join' }).click()
      expect(await toldOf(typed)).to.match(/invitation/i)
    }
    await typed.fill(link)
    await invited.page.getByRole('button', { name: 'Join' }).click()
    await invited.page.waitForURL(({ href }) => withoutWords(href) === `${grove.url}${pageAt(org)}?welcome`)
    expect((await made(dora.get(`/orgs/${org}`))).role).to.equal('reader')
    await invited.context.close()
  })

  it('delete an organisation whose name is repeated, and say what becomes of it', async () => {
    const { id } = await made(ann.post('/orgs', { name: 'Short-lived' }))
    const { page, open } = visitor
    await open(`${pageAt(id)}/settings/general`)
    await page.getByText('Delete organisation…').click()
    await page.getByText('restore the repositories from the trash').waitFor()
    const repeated = page.getByLabel('Type its name to confirm')
    await repeated.fill('Long-lived')
    await page.getByRole('button', { name: 'Delete organisation' }).click()
    expect(await toldOf(repeated)).to.equal('This is not the name of the organisation. Nothing was deleted.')
    expect((await ann.get(`/orgs/${id}`)).status).to.equal(200)
    await repeated.fill('Short-lived')
    await page.getByRole('button', { name: 'Delete organisation' }).click()
    await page.waitForURL(`${grove.url}/`)
    expect((await ann.get(`/orgs/${id}`)).status).to.equal(404)
  })
})
