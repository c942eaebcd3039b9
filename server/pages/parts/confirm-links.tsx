/** Links with which users without a password prove who they are. */

import type { PageContext } from '../page-context.ts'
import { oidcPath } from './oidc-path.ts'

interface ConfirmLinksProps {
  readonly visit: Pick<PageContext, 'urls' | 'oidc'>
  /** The path of the page to come back to. */
  readonly next: string
}

export function ConfirmLinks({ visit: { urls, oidc }, next }: ConfirmLinksProps) {
  return (
    <>
      <p class="why">
        Before you change how you sign in, or delete the account, confirm that it is you. It holds for 10 minutes.
      </p>
      <p class="services">
        {oidc.services.map(({ id, name }) => (
          <a class="btn small" href={oidcPath(urls, id, { purpose: 'confirm', next })}>
            Confirm with {name}
          </a>
        ))}
      </p>
    </>
  )
}
