/** Requests whose body arrives after what let them in has ended: they are refused, and nothing has changed. */

import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { flush, pktLine } from '../../gitstore/transfer/pkt-line.ts'
import { updateAccount } from '../../server/domain/accounts/administration.ts'
import { operator } from '../../server/domain/actor.ts'
import { finished, started } from '../support/half-sent.ts'
import { expecting, newNode } from '../support/node.ts'
import { client, type PersonClient, password, signUp } from '../support/people.ts'
import { useWorld } from '../support/world.ts'

interface Caller {
  readonly who: PersonClient
  /** Of the session, or a personal access token. */
  readonly secret: string
  readonly tokenId: string
}

describe('a request that began before', () => {
  const { grove } = useWorld({})

  const ends: Readonly<Record<string, { kind: 'session' | 'token'; end(caller: Caller): Promise<unknown> }>> = {
    'a logout': {
      kind: 'session',
      end: ({ who }) => client(grove).post('/auth/logout', { refreshToken: who.session.refreshToken }),
    },
    'the account was disabled': {
      kind: 'session',
      end: ({ who }) =>
        updateAccount(
          { ...grove.deps, actor: operator },
          { path: { account_id: who.user.id }, body: { disabled: true } },
        ),
    },
    'the account was disabled, with a token': {
      kind: 'token',
      end: ({ who }) =>
        updateAccount(
          { ...grove.deps, actor: operator },
          { path: { account_id: who.user.id }, body: { disabled: true } },
        ),
    },
    'the token was revoked': { kind: 'token', end: ({ who, tokenId }) => who.delete(`/auth/tokens/${tokenId}`) },
    'the account was deleted': { kind: 'session', end: ({ who }) => who.delete('/auth/me', {}, { password }) },
  }

  for (const [what, { kind, end }] of Object.entries(ends)) {
    const newCaller = async (): Promise<Caller> => {
      const who = await signUp(grove, randomUUID())
      const { id, token } = (await who.post('/auth/tokens', { name: 'Git', access: 'write' }).then(expecting(201))).body
      return { who, secret: kind === 'token' ? token : who.session.accessToken, tokenId: id }
    }

    it(`commits nothing after ${what}`, async () => {
      const caller = await newCaller()
      const node = await newNode(grove, caller.who)
      const head = node.git.head()
      const body = JSON.stringify({ message: 'Late', changes: [{ action: 'put', path: 'a.txt', content: 'a' }] })
      const sent = await started({
        url: grove.url,
        method: 'POST',
        path: `${node.at}/tree/main/commits`,
        half: body.slice(0, 9),
        headers: { authorization: `Bearer ${caller.secret}` },
      })
      await end(caller)
      const { status, text } = await finished(sent, body.slice(9))
      expect([status, JSON.parse(text).code]).to.deep.equal([401, 'invalid_token'])
      if (what !== 'the account was deleted') expect(node.git.head()).to.equal(head)
    })

    it(`moves no ref by a push after ${what}`, async () => {
      const caller = await newCaller()
      const node = await newNode(grove, caller.who)
      const head = node.git.head()
      const command = `${'0'.repeat(40)} ${head} refs/heads/late\0 report-status`
      const body = Buffer.concat([
        pktLine(command),
        flush,
        node.git.run(['pack-objects', '--stdout', '-q'], { input: head }),
      ])
      const sent = await started({
        url: grove.url,
        method: 'POST',
        path: `/git/${node.org}/${node.id}.git/git-receive-pack`,
        half: body.subarray(0, -10),
        headers: {
          authorization: `Bearer ${caller.secret}`,
          'content-type': 'application/x-git-receive-pack-request',
        },
      })
      await end(caller)
      const { text } = await finished(sent, body.subarray(-10))
      expect(text).to.not.contain('ok refs/heads/late')
      if (what !== 'the account was deleted') {
        expect(text).to.contain('ng refs/heads/late')
        expect(node.git.lines('branch', '--list', 'late')).to.deep.equal([])
      }
    })
  }

  it('appoints no administrator after its own was dismissed or disabled', async () => {
    for (const change of [{ is_admin: false }, { disabled: true }]) {
      const [ada, bob] = [await signUp(grove, randomUUID()), await signUp(grove, randomUUID())]
      await updateAccount(
        { ...grove.deps, actor: operator },
        { path: { account_id: ada.user.id }, body: { is_admin: true } },
      )
      const body = JSON.stringify({ is_admin: true })
      const sent = await started({
        url: grove.url,
        method: 'PATCH',
        path: `/admin/accounts/${bob.user.id}`,
        half: body.slice(0, 5),
        headers: { authorization: `Bearer ${ada.session.accessToken}` },
      })
      await updateAccount({ ...grove.deps, actor: operator }, { path: { account_id: ada.user.id }, body: change })
      const { status } = await finished(sent, body.slice(5))
      expect(status).to.be.oneOf([401, 403])
      expect((await bob.get('/admin/accounts')).status).to.equal(403)
    }
  })
})
