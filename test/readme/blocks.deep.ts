/** Shell blocks of pages that are no tour run as they stand there. */

import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { toolsFor } from '../../server/mcp/tools/table.ts'
import { made } from '../support/cast.ts'
import { useWorld } from '../support/world.ts'

describe('the shell block of', () => {
  const { grove, ann } = useWorld({ ann: 'owner' })

  async function said(page: string, variables: Readonly<Record<string, string>>) {
    const [, block = ''] = /^```sh\n([\s\S]*?)^```$/m.exec(await readFile(page, 'utf8')) ?? []
    const script = block.replaceAll('https://grove.example.org', grove.url)
    const env = { PATH: process.env.PATH ?? '', GROVE: grove.url, ORG: ann.org, ...variables }
    const { stdout } = await promisify(execFile)('bash', ['-euo', 'pipefail', '-c', script], { env })
    return JSON.parse(stdout)
  }

  it('server/mcp/README.md lists the tools of a token', async () => {
    const { token } = await made(ann.post('/auth/tokens', { name: 'Model', access: 'propose' }))
    const { result } = await said('server/mcp/README.md', { GROVE_TOKEN: token })
    const names = toolsFor({ access: 'propose' }).map(({ name }) => name)
    expect(result.tools.map(({ name }: { name: string }) => name)).to.deep.equal(names)
  })

  it('spec/types.md defines a type', async () => {
    const { token } = await made(ann.post('/auth/tokens', { name: 'CI', access: 'write' }))
    const type = await said('spec/types.md', { TOKEN: token })
    expect(type).to.include({ name: 'recipe' })
    expect(type.definition.columns).to.deep.equal(['serves', 'course', '->written_by'])
  })
})
