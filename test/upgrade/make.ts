/**
 * Makes the fixtures of a release: a data folder as that version leaves it, every answer that it gives, and its client
 * with the contract that it was generated from.
 * `node --import tsx test/upgrade/make.ts`, once a release, before its tag; no fixture is ever made again.
 */

import { execFileSync } from 'node:child_process'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { gzipSync } from 'node:zlib'
import manifest from '../../package.json' with { type: 'json' }
import document from '../../spec/openapi.json' with { type: 'json' }
import { contractOf } from '../../spec/revision-of.ts'
import { newDataDir } from '../support/data-folder.ts'
import { everythingIn } from '../support/everything.ts'
import { startGrove } from '../support/grove.ts'
import { expecting, newNode } from '../support/node.ts'
import { signUp } from '../support/people.ts'
import { queries } from './open.ts'

const folder = resolve('test/upgrade')
const dataDir = await newDataDir()
const grove = await startGrove({ dataDir, sweeps: false })
const ann = await signUp(grove, 'Ann')
const bob = await signUp(grove, 'Bob')
await ann.put(`/orgs/${ann.org}/members/${bob.session.user.email}`, { role: 'editor' }).then(expecting(200))
await ann.patch(`/orgs/${ann.org}`, { published: true }).then(expecting(200))
const sea = await newNode(grove, ann, { title: 'Sea', text_content: 'Water, salt and whales.\n', tags: ['sea'] })
const whales = await newNode(grove, ann, {
  title: 'Whales',
  text_content: 'Whales sing in the deep sea.\n',
  parents: [sea.id],
  properties: { size: 30 },
})
await ann.post(`${whales.at}/connections`, { target: sea.id, type: 'lives_in' }).then(expecting(201))
for (const name of ['merged', 'closed', 'open']) {
  await whales.proposal(name)
  const { number } = await whales.open(name)
  if (name === 'merged') await ann.post(`${whales.at}/pull-requests/${number}/merge`, {}).then(expecting(200))
  if (name === 'closed')
    await ann.patch(`${whales.at}/pull-requests/${number}`, { status: 'closed' }).then(expecting(200))
}
const gone = await newNode(grove, ann, { title: 'Deleted' })
await ann.delete(gone.at).then(expecting(204))
const { token } = (await ann.post('/auth/tokens', { name: 'Script', access: 'read' }).then(expecting(201))).body
const answers = await everythingIn(grove, token, [ann.org], queries)
await grove.close()
await rm(`${dataDir}/run`, { recursive: true })
await writeFile(`${dataDir}/answers.json`, JSON.stringify({ org: ann.org, token, answers }))
execFileSync('tar', ['-C', dataDir, '-czf', `${folder}/${manifest.version}.tar.gz`, '.'])
await rm(dataDir, { recursive: true })
const contract = { ...JSON.parse(contractOf(document)), client: await readFile('dist/client/client.js', 'utf8') }
await writeFile(`${folder}/${manifest.version}.contract.gz`, gzipSync(JSON.stringify(contract), { level: 9 }))
