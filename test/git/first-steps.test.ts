/** Git shows newcomers the next step if they take another way than Grove's. */

import { expect } from 'chai'
import { remoteUrl } from '../support/desk.ts'
import { newNode } from '../support/node.ts'
import { client } from '../support/people.ts'
import { ann, desk, grove, useScene } from './scene.ts'

describe('git: first steps', () => {
  useScene()

  before(async () => {
    await desk.done('git init -q -b master mine; cd mine; echo Whales > content.md; git add .; git commit -q -m First')
  })

  /** Git's output for a push to a new node without commits. */
  async function firstPush(...refs: readonly string[]): Promise<string> {
    const { org, id } = await newNode(grove, ann, { initialize: false })
    const url = remoteUrl(grove, org, id, ann.session.accessToken)
    return desk.done(
      `cd mine; git remote remove origin 2> /dev/null || true; git remote add origin ${url}; git push origin ${refs.join(' ')}`,
    )
  }

  const advice = (name: string) =>
    `remote: This node has no branch \`main\` yet. Its clones check out nothing, and the graph and search do not show it.\nremote: Create it: git push origin ${name}:main\n`

  it.deep(
    'that push master are told of main, with the command; once there is a main, nothing more is said',
    async () => {
      expect(await firstPush('master')).to.include(advice('master'))
      await desk.done('cd mine; git push -q origin master:main')
      expect(await desk.done('cd mine; git push origin master:other')).to.not.include('remote:')
      expect(await firstPush('master:main', 'master')).to.not.include('remote:')
    },
  )

  it.deep('that push other branches are told of one of them, which a shell may be given', async () => {
    expect(await firstPush('master:a', 'master')).to.include(advice('master'))
    expect(await firstPush("'master:refs/heads/$(reboot)'")).to.include(advice('<branch>'))
  })

  it('with the password of an account learns which password Git takes; with an old token, that it is invalid', async () => {
    const { org, id } = await newNode(grove, ann)
    const clone = async (secret: string) =>
      (await desk.sh(`git clone -q ${remoteUrl(grove, org, id, secret)} none`)).text
    expect(await clone('correct%20horse')).to.include(
      'remote: Use a personal access token (grv_…) as the Git password, not your account password. Create one at /me/tokens',
    )
    for (const token of ['grv_gone', 'eyJhbGciOiJub25lIn0.e30.', 'eyJhbGc'])
      expect(await clone(token)).to.include('remote: The token is invalid, expired or revoked')
  })

  it('with Git LFS are 501 with a reason that its client shows', async () => {
    for (const path of ['/objects/batch', '/locks/verify', '']) {
      const { status, headers, body } = await client(grove).post(`/git/x/y.git/info/lfs${path}`, {
        operation: 'upload',
      })
      expect([status, headers['content-type']]).to.deep.equal([501, 'application/vnd.git-lfs+json; charset=utf-8'])
      expect(JSON.parse(body).message).to.match(/^Grove does not store Git LFS objects/)
    }
  })
})
