/** Characters that PostgreSQL refuses: requests that hold them are answered as with credentials.sqlite. */
import { expect } from 'chai'
import { startGrove } from '../support/grove.ts'
import { client, password, signUp } from '../support/people.ts'

const [nul, half] = ['\0', '\ud800']

describe('NUL and halves of surrogates', () => {
  it('are answered alike on both engines, and never by 500', async () => {
    const [sqlite, postgres] = [await statuses(false), await statuses(true)]
    expect(postgres).to.deep.equal(sqlite)
    expect(postgres.filter((status) => status >= 500)).to.deep.equal([])
  })
})

async function statuses(postgres: boolean): Promise<number[]> {
  const grove = await startGrove({ postgres })
  try {
    const ann = await signUp(grove, 'Ann')
    await grove.deps.credentials.write((trx) => trx.updateTable('account').set({ is_admin: 1 }).execute())
    const nobody = client(grove)
    const asked = [nul, half].flatMap((odd) => [
      () => nobody.post('/auth/login', { email: `a${odd}@example.org`, password }),
      () => nobody.post('/auth/login', { email: 'ann@example.org', password: `${odd}${password}` }),
      () => nobody.post('/auth/refresh', { refreshToken: `grv_refresh_${odd}` }),
      () => nobody.post('/auth/signup', { email: `b${odd}@example.org`, password }),
      () => nobody.post('/auth/signup', { email: 'b@example.org', name: `a${odd}`, password }),
      () => nobody.post('/auth/password', { reset_token: odd, new_password: password }),
      () => ann.post('/auth/tokens', { name: `a${odd}`, access: 'read' }),
      () => ann.post('/auth/email', { password, new_email: `b${odd}@example.org` }),
      () => ann.patch('/auth/me', { name: `a${odd}` }),
    ])
    const paths = ['/admin/accounts?q=%00', '/admin/accounts?q=%ED%A0%80', '/admin/accounts/%00']
    const ends = ['/auth/tokens/%00', '/auth/sessions/%00', `/orgs/${ann.org}/invitations/%00`]
    const found: number[] = []
    for (const ask of asked) found.push((await ask()).status)
    for (const path of paths) found.push((await ann.get(path)).status)
    for (const path of ends) found.push((await ann.delete(path)).status)
    found.push((await ann.put(`/orgs/${ann.org}/members/a%00@example.org`, { role: 'reader' })).status)
    found.push((await ann.delete(`/orgs/${ann.org}/members/%00`)).status)
    return found
  } finally {
    await grove.close()
  }
}
