import { createRootRoute, Outlet } from '@tanstack/react-router'
import { NotFound } from './layout/Crash.tsx'

export const root = createRootRoute({
  component: Outlet,
  notFoundComponent: NotFound,
})
