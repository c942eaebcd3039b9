/** Forms of the editor that are sent twice: one proposal, one commit. */

import { expect } from 'chai'
import { made } from '../support/cast.ts'
import { newNode, type TestNode } from '../support/node.ts'
import { pageAt } from '../support/pages.ts'
import { useWorld } from '../support/world.ts'
import { formsOf } from './forms.ts'

describe('the form of an edit that is sent twice', () => {
  const { grove, ann } = useWorld({ ann: 'owner' })
  let send: Awaited<ReturnType<typeof formsOf>>
  let node: TestNode
  let page: string

  before(async () => {
    send = await formsOf(grove, ann)
  })
  beforeEach(async () => {
    node = await newNode(grove, ann, { text_content: 'Whales swim.\n' })
    page = pageAt(node.org, node.id)
  })

  const form = (act: string, text = 'Whales sing.\n') => ({
    ...{ head: node.git.head(), title: 'Whales', text, message: 'Say that they sing', act },
  })
  const proposals = async () =>
    (await made(ann.get(`/orgs/${node.org}/nodes/${node.id}/pull-requests?status=all`))).total as number

  for (const how of ['at the same time', 'one after the other'] as const)
    it(`opens one proposal, ${how}`, async () => {
      const fields = form('propose')
      const first = send(`${page}/edit`, fields)
      if (how === 'one after the other') await first
      const rest = ['', '', ''].map(() => send(`${page}/edit`, fields))
      const answers = await Promise.all([first, ...rest])
      expect(answers.map(({ status, headers }) => [status, headers.location])).to.deep.equal(
        answers.map(() => [303, `${page}/proposals/1`]),
      )
      expect(await proposals()).to.equal(1)
      expect((await made(ann.get(`/orgs/${node.org}/nodes/${node.id}/branches`))).total).to.equal(2)
    })

  it('opens a second proposal if the text differs, and a new one after the first was closed', async () => {
    const { headers } = await send(`${page}/edit`, form('propose'))
    expect(headers.location).to.equal(`${page}/proposals/1`)
    const other = await send(`${page}/edit`, form('propose', 'Whales dance.\n'))
    expect(other.headers.location).to.equal(`${page}/proposals/2`)
    await made(ann.patch(`/orgs/${node.org}/nodes/${node.id}/pull-requests/1`, { status: 'closed' }))
    const again = await send(`${page}/edit`, form('propose'))
    expect(again.headers.location).to.equal(`${page}/proposals/3`)
  })

  it('saves once, and leads to the page both times', async () => {
    const fields = form('save')
    const answers = [await send(`${page}/edit`, fields), await send(`${page}/edit`, fields)]
    expect(answers.map(({ status, headers }) => [status, headers.location])).to.deep.equal([
      [303, page],
      [303, page],
    ])
    expect(node.git.say('rev-list', '--count', 'main')).to.equal('2')
    const other = await send(`${page}/edit`, { ...fields, text: 'Whales dance.\n' })
    expect(other.status, 'a text that differs from what was saved').to.equal(409)
  })
})
