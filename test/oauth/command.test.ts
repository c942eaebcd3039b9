/** `grove connections`, while the service runs. */

import { expect } from 'chai'
import { grove as command } from '../support/command.ts'
import { connectProgram } from '../support/connector.ts'
import { ann, bob, grove, useScene } from './scene.ts'

describe('grove connections', () => {
  useScene()

  it('lists the programs, and ends all connections of one', async () => {
    const robins = [await connectProgram(grove, ann), await connectProgram(grove, bob)]
    const other = await connectProgram(grove, ann, { name: 'Wren' })
    const id = other.program.id
    const [robin] = robins.map(({ program }) => program.id)
    expect((await command(grove.dataDir, 'connections', 'list')).stdout).to.equal(
      `${robin}  "Robin"  2 connections\n${id}  "Wren"  1 connection\n`,
    )
    const ended = await command(grove.dataDir, 'connections', 'end', robin ?? '')
    expect(ended).to.deep.equal({ code: 0, stdout: '2 connections ended\n', stderr: '' })
    for (const one of robins) expect((await one.get('/auth/me')).status).to.equal(401)
    expect((await other.get('/auth/me')).status).to.equal(200)
    expect((await command(grove.dataDir, 'connections', 'end', robin ?? '')).code).to.equal(2)
  })
})
