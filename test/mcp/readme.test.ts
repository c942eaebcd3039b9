/** The examples of server/mcp/README.md work. */

import { readFile } from 'node:fs/promises'
import { expect } from 'chai'
import { charsOf } from '../../server/mcp/answer.ts'
import { toolsFor } from '../../server/mcp/tools/table.ts'

const id = '00000000-0000-4000-8000-000000000000'

describe('the README of models', () => {
  let text: string
  let main: string
  before(async () => {
    text = await readFile('server/mcp/README.md', 'utf8')
    main = await readFile('README.md', 'utf8')
  })

  it('has JSON that clients can read', () => {
    const blocks = [...text.matchAll(/```json\n([\s\S]*?)```/g)].map(([, block = '']) => block)
    const ours = blocks.filter((block) => block.includes('"grove"'))
    expect(ours.length).to.be.at.least(1)
    for (const block of ours) expect(() => JSON.parse(block), block).to.not.throw()
  })

  it('names the tools that each kind of token has', () => {
    const cells = (row: string) => text.split('\n').find((line) => line.startsWith(`| ${row}`)) ?? ''
    const named = (row: string, reach: Parameters<typeof toolsFor>[0], but: readonly string[] = []) => {
      const expected = toolsFor(reach).map(({ name }) => name)
      const found = [
        ...cells(row).matchAll(/`(\w+_\w+|search|neighbours|history|diff|connect|waiting|comment|suggest)`/g),
      ].map(([, name]) => name)
      expect(found.filter((name) => name !== 'node_id')).to.have.members(expected.filter((name) => !but.includes(name)))
    }
    const [reading, proposing] = (['read', 'propose'] as const).map((access) =>
      toolsFor({ access }).map(({ name }) => name),
    )
    named('`read`', { access: 'read' })
    named('`propose`', { access: 'propose' }, reading)
    named('`write`', { access: 'write' }, proposing)
    named('of one node', { access: 'write', orgId: id, nodeId: id })
    const figures = [charsOf.least, charsOf.most, charsOf.default].map((figure) => figure.toLocaleString('en'))
    for (const figure of figures) expect(text).to.include(figure)
  })

  it('is where the README sends: its own section is short', () => {
    const section = /## Models\n[\s\S]*?(?=\n## )/.exec(main)?.[0] ?? ''
    expect(section).to.include('(server/mcp/README.md)')
    expect(section.split('\n').length).to.be.at.most(14)
  })
})
