/** Where an export looks for the names of files in a long text, and where it stops. */

import { execFileSync } from 'node:child_process'
import { expect } from 'chai'
import { type Grove, startGrove } from '../support/grove.ts'
import { newNode } from '../support/node.ts'
import { type PersonClient, signUp } from '../support/people.ts'

/** 2^30 UTF-16 units at twice the text for each file. */
const textUnits = 10 * 1_048_576
const mostFiles = Math.ceil(2 ** 30 / (2 * textUnits))

describe('an export of a long text that names its files', () => {
  let grove: Grove
  let ann: PersonClient

  before(async () => {
    grove = await startGrove()
    ann = await signUp(grove, 'Ann')
  })
  after(() => grove.close())

  it('looks for the names until it has looked through 2^30 characters; files after that lie as if they were not named', async () => {
    const node = await newNode(grove, ann, { title: 'Long' })
    const names = Array.from({ length: mostFiles + 2 }, (_, at) => `attachments/${String(at).padStart(2, '0')}.txt`)
    const named = names.map((name) => `[](${name})\n`).join('')
    const files = Object.fromEntries(names.map((name) => [name, name]))
    const text = 'x'.repeat(textUnits - named.length) + named
    node.git.point('main', node.git.commit({ files: { ...files, 'content.md': text }, parents: [node.git.head()] }))
    const answer = await fetch(`${grove.url}/orgs/${node.org}/export`, {
      headers: { authorization: `Bearer ${ann.session.accessToken}` },
    })
    const tar = Buffer.from(await answer.arrayBuffer())
    const listed = execFileSync('tar', ['-t'], { input: tar }).toString().trim().split('\n')
    const places = listed.filter((path) => path.endsWith('.txt')).sort()
    const beside = names.slice(0, mostFiles)
    const apart = names.slice(mostFiles).map((name) => name.slice('attachments/'.length))
    expect(places).to.deep.equal([...beside, ...apart].sort())
  })
})
