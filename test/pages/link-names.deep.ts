/** Links that a text names by title: the pages match names as an import does. */

import { expect } from 'chai'
import { ann, folderOf, grove, importAs, nodesOf, orgIn, useService } from '../import/command.ts'
import { expecting } from '../support/node.ts'
import { pageAt } from '../support/pages.ts'
import { formsOf } from './forms.ts'

/** As a text that was copied from a PDF has it: upper case takes the ligature apart, lower case does not. */
const ligature = 'O\ufb03ce'

describe('names of links', () => {
  useService()

  it('lead from the editor where they lead from an imported folder', async () => {
    const org = orgIn(await importAs(await folderOf('Names', { [`${ligature}.md`]: '', 'From.md': '[[Office]]\n' })))
    const nodes = await nodesOf(org)
    const [target, from] = [nodes.get(ligature)?.id, nodes.get('From')?.id ?? '']
    const targetsOf = async (id: string) => {
      const { connections } = (await ann.get(`/orgs/${org}/nodes/${id}`).then(expecting(200))).body
      return connections.map((one: { target: string }) => one.target)
    }
    expect(await targetsOf(from)).to.deep.equal([target])

    const edited = (await ann.post(`/orgs/${org}/nodes`, { title: 'Edited', text_content: '' }).then(expecting(201)))
      .body
    const fields = { head: edited.head, title: 'Edited', text: '[[Office]]\n', message: '', act: 'save' }
    const send = await formsOf(grove, ann)
    expect((await send(`${pageAt(org, edited.id)}/edit`, fields)).status).to.equal(303)
    expect(await targetsOf(edited.id)).to.deep.equal([target])
  })
})
