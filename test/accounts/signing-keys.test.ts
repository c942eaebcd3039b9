/** The key that signs tokens, and what the log holds of secrets. */

import { rm } from 'node:fs/promises'
import { expect } from 'chai'
import { newDataDir } from '../support/data-folder.ts'
import { startGrove } from '../support/grove.ts'
import { client, password, signUp } from '../support/people.ts'
import { spawnGrove } from '../support/spawned-grove.ts'
import { claims } from './answers.ts'

describe('signing keys', () => {
  it('are kept, and issuer and audience with them', async () => {
    const dataDir = await newDataDir()
    const first = await startGrove({ dataDir })
    const ann = await signUp(first, 'Ann')
    await first.close()
    const second = await startGrove({ dataDir })
    expect((await client(second, ann.session.accessToken).get('/auth/me')).status).to.equal(200)
    await second.close()
    await rm(dataDir, { recursive: true })
  })

  it('are one for two processes that start together over an empty folder', async () => {
    const dataDir = await newDataDir()
    const groves = await Promise.all([startGrove({ dataDir }), startGrove({ dataDir })])
    const [left, right] = groves
    const ann = await signUp(left, 'Ann')
    expect((await client(right, ann.session.accessToken).get('/auth/me')).body).to.deep.equal(ann.user)
    await Promise.all(groves.map((grove) => grove.close()))
    await rm(dataDir, { recursive: true })
  })

  it('speak in the name of PUBLIC_URL if it is set', async () => {
    const grove = await startGrove({ publicUrl: 'https://grove.example' })
    const { session } = await signUp(grove, 'Ann')
    expect(claims(session.accessToken)).to.include({ iss: 'https://grove.example', aud: 'https://grove.example' })
    await grove.close()
  })
})

describe('the log', () => {
  it.deep('holds no password, no token and no Authorization, at any level', async () => {
    const dataDir = await newDataDir()
    const grove = await spawnGrove(dataDir, { LOG_LEVEL: 'trace' })
    const ann = await signUp(grove, 'Ann')
    await client(grove).post('/auth/login', { email: 'ann@example.org', password: 'a wrong password' })
    await client(grove).post('/auth/login', `{"email": "ann@example.org", "password": "${password}"`)
    const { refreshToken } = ann.session
    await client(grove).post('/auth/refresh', { refreshToken })
    await ann.post('/auth/password', { old_password: password, new_password: 'staple the horse' })
    await client(grove, 'a-forged-token').get('/auth/me')
    await grove.stop()
    const { stdout, stderr } = grove.output()
    expect(stderr.split('\n').length).to.be.greaterThan(6)
    for (const secret of [
      password,
      'a wrong password',
      'staple the horse',
      'a-forged-token',
      'eyJ',
      'grv_',
      'argon2',
    ]) {
      expect(stdout + stderr).to.not.contain(secret)
    }
    await rm(dataDir, { recursive: true })
  })
})
