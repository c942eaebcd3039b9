/** Which names are branches of a contributor's own: REST and a push answer as a table by native git does. */

import { spawnSync } from 'node:child_process'
import { expect } from 'chai'
import fc from 'fast-check'
import { flush } from '../../gitstore/transfer/pkt-line.ts'
import { prefixOf } from '../support/cast.ts'
import { askGit } from '../support/git-requests.ts'
import { type Grove, startGrove } from '../support/grove.ts'
import { expecting, newNode, type TestNode } from '../support/node.ts'
import { type PersonClient, signUp } from '../support/people.ts'

/** Bytes of the longest name of a branch. */
const longest = 200

describe('the branches of a contributor', () => {
  let grove: Grove
  let cy: PersonClient
  let asked: TestNode
  let pushed: TestNode
  let prefix: string

  before(async () => {
    grove = await startGrove()
    const ann = await signUp(grove, 'Ann')
    cy = await signUp(grove, 'Cy')
    await ann.put(`/orgs/${ann.org}/members/cy@example.org`, { role: 'contributor' }).then(expecting(200))
    asked = await newNode(grove, ann)
    pushed = await newNode(grove, ann)
    prefix = prefixOf(cy)
  })
  after(() => grove.close())

  /** Git's and the prefix's verdict on a name, without control characters. Another branch may be in its way. */
  const isOwn = (name: string) =>
    name.startsWith(prefix) &&
    Buffer.byteLength(name) <= longest &&
    !/\p{Cc}/u.test(name) &&
    spawnSync('git', ['check-ref-format', `refs/heads/${name}`]).status === 0

  async function ask(name: string): Promise<boolean> {
    const { status, body } = await cy.post(`${asked.at}/branches`, { name })
    expect(status, JSON.stringify(body)).to.be.oneOf([201, 403, 409, 422])
    expect(status === 403, name).to.equal(name !== '' && [...name].length <= longest && !name.startsWith(prefix))
    return status === 201
  }

  async function push(name: string): Promise<boolean> {
    const empty = pushed.git.run(['pack-objects', '--stdout', '-q'])
    const line = `${'0'.repeat(40)} ${pushed.git.head()} refs/heads/${name}\0 report-status`
    const { status, body } = await askGit(grove, pushed, [line, flush, empty], {
      service: 'git-receive-pack',
      token: cy.session.accessToken,
    })
    if (status !== 200) return false
    return body.toString().includes('ok refs/heads/')
  }

  const branches = ({ git }: TestNode) => git.lines('for-each-ref', '--format=%(refname:lstrip=2)', 'refs/heads')

  it('have the names that git allows below the prefix, whatever they look like', async () => {
    const digits = prefix.slice('users/'.length, -1)
    const root = fc.constantFrom(
      ...[prefix, prefix, prefix, prefix],
      ...[`users/${digits}`, `users/${digits}x/`, `users/x${digits}/`, `users/${digits.slice(1)}/`, 'users/', ''],
      ...[prefix.toUpperCase(), `Users/${digits}/`, `users//${digits}/`, `/${prefix}`, `heads/${prefix}`],
      ...[`refs/heads/${prefix}`, `${prefix}../`, `users/./${digits}/`, `x/../${prefix}`, `users\\${digits}\\`],
      ...['users/%2f', `users%2F${digits}%2F`, `${prefix.slice(0, -1)}\u200b/`, prefix.replace('u', '\u1d64')],
    )
    const part = fc.oneof(
      fc.stringMatching(/^[a-z]{2,5}$/),
      fc.stringMatching(/^[a-z]{2,5}$/),
      fc.constantFrom(
        'main',
        'a',
        '..',
        '.',
        '@',
        '@{',
        'a.lock',
        '-',
        'HEAD',
        ' ',
        '~',
        '^',
        ':',
        '?',
        '*',
        '[',
        '\\',
        '//',
        'é',
      ),
      fc.string({ unit: 'grapheme', maxLength: 6 }),
      fc.constant('x'.repeat(longest)),
    )
    const name = fc
      .tuple(root, fc.array(part, { maxLength: 3 }))
      .map(([first, parts]) => first + parts.join('/'))
      .filter((text) => !/[\0\n\p{Cs}]/u.test(text))
    // The sample alone may have few names that are allowed.
    const allowed = Array.from({ length: 10 }, (_, number) => `${prefix}allowed-${number}`)
    for (const one of [...allowed, ...fc.sample(name, 250)]) {
      const before = branches(asked)
      const isInTheWay = before.some(
        (other) => other === one || other.startsWith(`${one}/`) || one.startsWith(`${other}/`),
      )
      const expected = isOwn(one) && !isInTheWay
      expect(await ask(one), `REST: ${JSON.stringify(one)}`).to.equal(expected)
      expect(await push(one), `push: ${JSON.stringify(one)}`).to.equal(expected)
      expect(branches(pushed)).to.deep.equal(branches(asked))
    }
    expect(branches(asked).length).to.be.greaterThan(10)
    expect(branches(asked).filter((one) => !one.startsWith(prefix))).to.deep.equal(['main'])
  })
})
