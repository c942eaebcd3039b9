/** Ten lines of shell: every repository mirrored with git alone, and the service made again from the mirrors. */

import { readFile, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { expect } from 'chai'
import { expectSound } from '../support/data-folder.ts'
import { everythingIn } from '../support/everything.ts'
import { startGrove } from '../support/grove.ts'
import { newNode } from '../support/node.ts'
import { client, password, signUp } from '../support/people.ts'
import { spawnGrove } from '../support/spawned-grove.ts'
import { cli, folder, newToken, queries, resetTokens, run, seed, startLoad, useDesk, withNewPassword } from './desk.ts'

describe('the operator', () => {
  useDesk()

  describe('with ten lines of shell', () => {
    it('gets every answer back, byte for byte, from mirrors that were made under load and nothing else', async () => {
      const dataDir = await folder()
      const copy = join(await folder(), 'copy')
      const page = 'server/cli/commands/README.md'
      const [mirror, last] = [await shell(page, 'mirror'), await shell(page, 'drill')]
      expect(mirror.trimEnd().split('\n')).to.have.length.at.most(10)
      const first = await startGrove({ dataDir })
      let before: Record<string, string>
      let [ann, bob] = [await signUp(first, 'Ann'), await signUp(first, 'Bob')]
      const orgs = await seed(first, ann)
      const token = await newToken(ann)
      try {
        // The second run of a backup that was made before half of it was there.
        await run('bash', ['-c', mirror], { DATA_DIR: dataDir, COPY: copy })
        const more = await newNode(first, ann, { title: 'Late song', text_content: 'whale song of the ice' })
        await more.proposal('later')
        await more.open('later')
        before = await everythingIn(first, ann.session.accessToken, orgs, queries)

        const load = startLoad(first, bob)
        await load.until(10)
        const mirrored = await run('bash', ['-c', mirror], { DATA_DIR: dataDir, COPY: copy })
        await load.stop()
        expect(mirrored).to.deep.include({ code: 0, stderr: '' })
        const after = await everythingIn(first, ann.session.accessToken, orgs, queries)
        expect(after, 'what was left alone').to.deep.equal(before)
      } finally {
        await first.close()
      }
      await rm(dataDir, { recursive: true })

      const drill = `set -euo pipefail; grove() { "$NODE" dist/cli.js "$@"; }\n${last}`
      const drilled = await run('bash', ['-c', drill], { COPY: copy, NODE: process.execPath, LOG_LEVEL: 'warn' })
      expect(drilled.code, drilled.stdout + drilled.stderr).to.equal(0)
      expect(drilled.stdout).to.match(
        /^3 organisations and \d+ nodes restored from .*\n[\s\S]*\nOK: no problems found\nThe copies are good\n$/,
      )

      const restored = await cli(dataDir, 'restore', copy)
      expect(restored.code, restored.stdout + restored.stderr).to.equal(0)
      expect(restored.stdout).to.match(/^3 organisations and \d+ nodes restored from /)
      const tokens = resetTokens(restored.stdout)
      expect([...tokens.keys()]).to.deep.equal(['ann@example.org', 'bob@example.org'])

      const grove = await spawnGrove(dataDir)
      try {
        const login = { email: 'ann@example.org', password }
        expect((await client(grove).post('/auth/login', login)).status, 'the old password').to.equal(401)
        const refresh = { refreshToken: ann.session.refreshToken }
        expect((await client(grove).post('/auth/refresh', refresh)).status, 'the old session').to.equal(401)
        expect((await client(grove, token).get('/auth/me')).status, 'the old personal access token').to.equal(401)
        ann = await withNewPassword(grove, tokens.get('ann@example.org'))
        expect(await everythingIn(grove, ann.session.accessToken, orgs, queries)).to.deep.equal(before)
        expect((await ann.get('/auth/tokens')).body.total).to.equal(0)
        expect(ann.session.user).to.include({ email: 'ann@example.org', name: 'Ann', org_id: orgs[0] })

        const again = { reset_token: tokens.get('ann@example.org'), new_password: 'something else' }
        expect((await client(grove).post('/auth/password', again)).status, 'the token once more').to.equal(401)
        bob = await withNewPassword(grove, tokens.get('bob@example.org'))
        await everythingIn(grove, bob.session.accessToken, [bob.org], queries)
        expect((await cli(dataDir, 'doctor')).stdout).to.contain('\nOK: no problems found\n')
      } finally {
        await grove.stop()
      }
      await expectSound(dataDir)
    })
  })
})

/** A README's, between `<!-- name -->` and the end of the block below it. */
async function shell(file: string, name: 'mirror' | 'drill'): Promise<string> {
  const readme = await readFile(resolve(file), 'utf8')
  return new RegExp(`<!-- ${name} -->\\s+\`\`\`sh\\n([\\s\\S]*?)\`\`\``).exec(readme)?.[1] ?? ''
}
