/** A text that others changed meanwhile: how many lines may differ until it is left to a person. */

import { expect } from 'chai'
import { newNode } from '../support/node.ts'
import { pageAt } from '../support/pages.ts'
import { useWorld } from '../support/world.ts'
import { formsOf } from './forms.ts'

/** A changed line is one that goes and one that comes. */
const mostChanged = 600 / 2

describe('a text that others changed meanwhile', () => {
  const { grove, ann } = useWorld({ ann: 'owner' })

  const lines = (changed: number) =>
    Array.from({ length: 1_000 }, (_, at) => `${at < changed ? 'theirs' : 'line'} ${at}\n`).join('')

  /** The message to a user who adds a last line, after so many changes at the beginning. */
  async function saidAfter(changed: number): Promise<{ readonly isMerged: boolean; readonly text: string }> {
    const node = await newNode(grove, ann, { text_content: lines(0) })
    const head = node.git.head()
    await node.commit('main', { 'content.md': lines(changed) })
    const send = await formsOf(grove, ann)
    const fields = { head, title: 'Whales', text: `${lines(0)}mine\n`, message: '', act: 'save' }
    const { status, body } = await send(`${pageAt(node.org, node.id)}/edit`, fields)
    expect(status).to.equal(409)
    const text = /<textarea[^>]*name="text"[^>]*>\n?([^<]*)<\/textarea>/.exec(body)?.[1] ?? ''
    return { isMerged: body.includes('so the text above now contains both'), text }
  }

  it('has what both wrote where 300 lines differ, and is left to the person, unchanged, where 301 do', async () => {
    expect(await saidAfter(mostChanged)).to.deep.equal({ isMerged: true, text: `${lines(mostChanged)}mine\n` })
    expect(await saidAfter(mostChanged + 1)).to.deep.equal({ isMerged: false, text: `${lines(0)}mine\n` })
  })
})
