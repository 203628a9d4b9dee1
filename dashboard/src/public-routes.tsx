import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { root } from './root-route.tsx'
import { textsOf } from './search-parameters.ts'

const signInSearch = textsOf('next')

/** The pages of a person without a session. */
export const publicPages = [
  createRoute({
    getParentRoute: () => root,
    path: '/login',
    validateSearch: signInSearch,
    component: lazyRouteComponent(() => import('./pages/sign-in/LoginPage.tsx'), 'LoginPage'),
  }),
  createRoute({
    getParentRoute: () => root,
    path: '/signup',
    validateSearch: signInSearch,
    component: lazyRouteComponent(() => import('./pages/sign-in/SignUpPage.tsx'), 'SignUpPage'),
  }),
  createRoute({
    getParentRoute: () => root,
    path: '/forgot-password',
    component: lazyRouteComponent(
      () => import('./pages/sign-in/ForgotPasswordPage.tsx'),
      'ForgotPasswordPage',
    ),
  }),
  createRoute({
    getParentRoute: () => root,
    path: '/reset-password',
    component: lazyRouteComponent(
      () => import('./pages/sign-in/ResetPasswordPage.tsx'),
      'ResetPasswordPage',
    ),
  }),
  createRoute({
    getParentRoute: () => root,
    path: '/accept-invitation',
    component: lazyRouteComponent(
      () => import('./pages/sign-in/AcceptInvitationPage.tsx'),
      'AcceptInvitationPage',
    ),
  }),
  createRoute({
    getParentRoute: () => root,
    path: '/welcome',
    component: lazyRouteComponent(() => import('./pages/sign-in/WelcomePage.tsx'), 'WelcomePage'),
  }),
] as const
