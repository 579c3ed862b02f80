# ruff: noqa: PLR0915
"""100 conditions as a person writes them: `if` chains that skip what another kind of event cannot match.

The bare loop and every framework route by these; `harness/workloads.py` holds the same as triggers, and checks that
both match the same. Nothing is imported: this runs in the environments of the others.
"""

from typing import Any


def match_orders(event: dict[str, Any]) -> list[str]:
    """The actions of an order, each once."""
    if event["type"] != "order":
        return []
    order = event["attributes"]
    kind, region, amount = order["kind"], order["region"], order["amount"]
    found = set()
    if kind == "k0":
        found.add("a0")
        if amount > 50:
            if region == "r0":
                found.add("a1")
            elif region == "r1":
                found.add("a2")
            elif region == "r2":
                found.add("a3")
            elif region == "r3":
                found.add("a4")
    elif kind == "k1":
        found.add("a0")
        if amount > 50:
            if region == "r0":
                found.add("a8")
            elif region == "r1":
                found.add("a9")
            elif region == "r2":
                found.add("a0")
            elif region == "r3":
                found.add("a1")
    elif kind == "k2":
        found.add("a1")
        if amount > 50:
            if region == "r0":
                found.add("a5")
            elif region == "r1":
                found.add("a6")
            elif region == "r2":
                found.add("a7")
            elif region == "r3":
                found.add("a8")
    elif kind == "k3":
        found.add("a1")
        if amount > 50:
            if region == "r0":
                found.add("a2")
            elif region == "r1":
                found.add("a3")
            elif region == "r2":
                found.add("a4")
            elif region == "r3":
                found.add("a5")
    elif kind == "k4":
        found.add("a2")
        if amount > 50:
            if region == "r0":
                found.add("a9")
            elif region == "r1":
                found.add("a0")
            elif region == "r2":
                found.add("a1")
            elif region == "r3":
                found.add("a2")
    elif kind == "k5":
        found.add("a2")
        if amount > 50:
            if region == "r0":
                found.add("a6")
            elif region == "r1":
                found.add("a7")
            elif region == "r2":
                found.add("a8")
            elif region == "r3":
                found.add("a9")
    elif kind == "k6":
        found.add("a3")
        if amount > 50:
            if region == "r0":
                found.add("a3")
            elif region == "r1":
                found.add("a4")
            elif region == "r2":
                found.add("a5")
            elif region == "r3":
                found.add("a6")
    elif kind == "k7":
        found.add("a3")
        if amount > 50:
            if region == "r0":
                found.add("a0")
            elif region == "r1":
                found.add("a1")
            elif region == "r2":
                found.add("a2")
            elif region == "r3":
                found.add("a3")
    elif kind == "k8":
        found.add("a4")
        if amount > 50:
            if region == "r0":
                found.add("a7")
            elif region == "r1":
                found.add("a8")
            elif region == "r2":
                found.add("a9")
            elif region == "r3":
                found.add("a0")
    elif kind == "k9":
        found.add("a4")
        if amount > 50:
            if region == "r0":
                found.add("a4")
            elif region == "r1":
                found.add("a5")
            elif region == "r2":
                found.add("a6")
            elif region == "r3":
                found.add("a7")
    elif kind == "k10":
        found.add("a5")
        if amount > 50:
            if region == "r0":
                found.add("a1")
            elif region == "r1":
                found.add("a2")
            elif region == "r2":
                found.add("a3")
            elif region == "r3":
                found.add("a4")
    elif kind == "k11":
        found.add("a5")
        if amount > 50:
            if region == "r0":
                found.add("a8")
            elif region == "r1":
                found.add("a9")
            elif region == "r2":
                found.add("a0")
            elif region == "r3":
                found.add("a1")
    elif kind == "k12":
        found.add("a6")
        if amount > 50:
            if region == "r0":
                found.add("a5")
            elif region == "r1":
                found.add("a6")
            elif region == "r2":
                found.add("a7")
            elif region == "r3":
                found.add("a8")
    elif kind == "k13":
        found.add("a6")
        if amount > 50:
            if region == "r0":
                found.add("a2")
            elif region == "r1":
                found.add("a3")
            elif region == "r2":
                found.add("a4")
            elif region == "r3":
                found.add("a5")
    elif kind == "k14":
        found.add("a7")
        if amount > 50:
            if region == "r0":
                found.add("a9")
            elif region == "r1":
                found.add("a0")
            elif region == "r2":
                found.add("a1")
            elif region == "r3":
                found.add("a2")
    elif kind == "k15":
        found.add("a7")
        if amount > 50:
            if region == "r0":
                found.add("a6")
            elif region == "r1":
                found.add("a7")
            elif region == "r2":
                found.add("a8")
            elif region == "r3":
                found.add("a9")
    elif kind == "k16":
        found.add("a8")
        if amount > 50:
            if region == "r0":
                found.add("a3")
            elif region == "r1":
                found.add("a4")
            elif region == "r2":
                found.add("a5")
            elif region == "r3":
                found.add("a6")
    elif kind == "k17":
        found.add("a8")
        if amount > 50:
            if region == "r0":
                found.add("a0")
            elif region == "r1":
                found.add("a1")
            elif region == "r2":
                found.add("a2")
            elif region == "r3":
                found.add("a3")
    elif kind == "k18":
        found.add("a9")
        if amount > 50:
            if region == "r0":
                found.add("a7")
            elif region == "r1":
                found.add("a8")
            elif region == "r2":
                found.add("a9")
            elif region == "r3":
                found.add("a0")
    elif kind == "k19":
        found.add("a9")
        if amount > 50:
            if region == "r0":
                found.add("a4")
            elif region == "r1":
                found.add("a5")
            elif region == "r2":
                found.add("a6")
            elif region == "r3":
                found.add("a7")
    if amount >= 90:
        if amount == 90 and region == "r0":
            found.add("a0")
        elif amount == 91 and region == "r1":
            found.add("a1")
        elif amount == 92 and region == "r2":
            found.add("a2")
        elif amount == 93 and region == "r3":
            found.add("a3")
        elif amount == 94 and region == "r4":
            found.add("a4")
        elif amount == 95 and region == "r0":
            found.add("a5")
        elif amount == 96 and region == "r1":
            found.add("a6")
        elif amount == 97 and region == "r2":
            found.add("a7")
        elif amount == 98 and region == "r3":
            found.add("a8")
        elif amount == 99 and region == "r4":
            found.add("a9")
    return list(found)


def match_github(event: dict[str, Any]) -> list[str]:
    """The actions of a webhook, each once."""
    if event["type"] != "github":
        return []
    name, payload = event["attributes"]["event"], event["attributes"]["payload"]
    action = payload.get("action")
    found = set()
    if name == "issues":
        found.add("a8")
        if action == "opened":
            found.add("a9")
        elif action == "edited":
            found.add("a2")
        elif action == "assigned":
            found.add("a9")
        elif action == "demilestoned":
            found.add("a2")
        elif action == "labeled":
            found.add("a9")
        elif action == "locked":
            found.add("a6")
        elif action == "milestoned":
            found.add("a3")
        elif action == "unassigned":
            found.add("a0")
        elif action == "unlabeled":
            found.add("a7")
        elif action == "unlocked":
            found.add("a4")
        if "repository" in payload and payload["repository"]["private"]:
            found.add("a5")
    elif name == "pull_request":
        found.add("a4")
        if action == "opened":
            found.add("a3")
        elif action == "assigned":
            found.add("a6")
        elif action == "closed":
            found.add("a3")
        elif action == "converted_to_draft":
            found.add("a0")
        elif action == "labeled":
            found.add("a7")
        elif action == "locked":
            found.add("a4")
        elif action == "ready_for_review":
            found.add("a1")
        elif action == "reopened":
            found.add("a8")
        elif action == "unassigned":
            found.add("a5")
        elif action == "unlabeled":
            found.add("a2")
        elif action == "unlocked":
            found.add("a9")
        if "repository" in payload and payload["repository"]["private"]:
            found.add("a6")
    elif name == "discussion":
        found.add("a1")
        if action == "created":
            found.add("a5")
        elif action == "edited":
            found.add("a2")
        elif action == "labeled":
            found.add("a9")
        elif action == "locked":
            found.add("a6")
        if "repository" in payload and payload["repository"]["private"]:
            found.add("a7")
    elif name == "release":
        found.add("a9")
        if action == "published":
            found.add("a5")
        elif action == "created":
            found.add("a2")
        elif action == "deleted":
            found.add("a6")
        elif action == "edited":
            found.add("a3")
        elif action == "prereleased":
            found.add("a0")
        if "repository" in payload and payload["repository"]["private"]:
            found.add("a8")
    elif name == "repository":
        found.add("a0")
        if action == "publicized":
            found.add("a9")
        elif action == "transferred":
            found.add("a6")
        elif action == "created":
            found.add("a4")
        elif action == "edited":
            found.add("a1")
        elif action == "privatized":
            found.add("a8")
        if "repository" in payload and payload["repository"]["private"]:
            found.add("a9")
    elif name == "issue_comment":
        found.add("a7")
        if action in {"created", "deleted"}:
            found.add("a8")
        elif action == "edited":
            found.add("a5")
        if "repository" in payload and payload["repository"]["private"]:
            found.add("a0")
    elif name == "project_card":
        found.add("a0")
        if action == "created":
            found.add("a5")
        elif action == "deleted":
            found.add("a7")
        if "repository" in payload and payload["repository"]["private"]:
            found.add("a1")
    elif name == "check_run":
        found.add("a1")
        if action == "created":
            found.add("a0")
        elif action == "completed":
            found.add("a7")
        elif action == "rerequested":
            found.add("a4")
        if "repository" in payload and payload["repository"]["private"]:
            found.add("a2")
    elif name == "check_suite":
        found.add("a2")
        if action == "completed":
            found.add("a2")
        elif action == "requested":
            found.add("a4")
        if "repository" in payload and payload["repository"]["private"]:
            found.add("a3")
    elif name == "installation":
        found.add("a5")
        if action == "deleted":
            found.add("a7")
        elif action == "created":
            found.add("a4")
        if "repository" in payload and payload["repository"]["private"]:
            found.add("a4")
    elif name == "push":
        found.add("a8")
    elif name == "code_scanning_alert":
        found.add("a3")
        if action == "reopened":
            found.add("a1")
        elif action == "closed_by_user":
            found.add("a4")
    elif name == "label":
        found.add("a9")
        if action == "created":
            found.add("a6")
        elif action == "deleted":
            found.add("a1")
    elif name == "team":
        found.add("a7")
        if action == "added_to_repository":
            found.add("a9")
    elif name == "commit_comment":
        found.add("a4")
        if action == "created":
            found.add("a1")
    elif name == "create":
        found.add("a5")
    elif name == "membership":
        found.add("a1")
        if action == "removed":
            found.add("a6")
    elif name == "milestone":
        found.add("a4")
        if action == "created":
            found.add("a2")
        elif action == "closed":
            found.add("a9")
    elif name == "projects_v2_item":
        found.add("a2")
    elif name == "pull_request_review_comment":
        found.add("a6")
        if action == "created":
            found.add("a8")
    elif name == "workflow_job":
        found.add("a1")
        if action == "in_progress":
            found.add("a6")
        elif action == "completed":
            found.add("a3")
    elif name == "branch_protection_rule":
        found.add("a0")
        if action == "edited":
            found.add("a7")
        elif action == "created":
            found.add("a0")
        elif action == "deleted":
            found.add("a7")
    elif name == "delete":
        found.add("a6")
    elif name == "discussion_comment":
        found.add("a2")
        if action == "created":
            found.add("a3")
    elif name == "ping":
        found.add("a8")
    elif name == "project_column":
        found.add("a1")
        if action == "created":
            found.add("a4")
    elif name == "pull_request_review":
        found.add("a5")
        if action == "submitted":
            found.add("a1")
    elif name == "repository_vulnerability_alert":
        found.add("a3")
        if action == "create":
            found.add("a3")
    elif name == "security_advisory":
        found.add("a4")
        if action == "published":
            found.add("a5")
    elif name == "status":
        found.add("a6")
    elif name == "deployment":
        found.add("a9")
        if action == "created":
            found.add("a8")
    elif name == "deployment_status":
        found.add("a0")
        if action == "created":
            found.add("a5")
    elif name == "fork":
        found.add("a3")
    elif name == "installation_repositories":
        found.add("a6")
        if action == "added":
            found.add("a1")
    elif name == "package":
        found.add("a6")
        if action == "published":
            found.add("a3")
    elif name == "page_build":
        found.add("a7")
    elif name == "project":
        found.add("a9")
        if action == "created":
            found.add("a0")
    elif name == "public":
        found.add("a3")
    elif name == "star":
        found.add("a5")
        if action == "created":
            found.add("a2")
    elif name == "team_add":
        found.add("a8")
    elif name == "watch":
        found.add("a9")
        if action == "started":
            found.add("a0")
    elif name == "dependabot_alert":
        found.add("a7")
        if action == "fixed":
            found.add("a1")
    elif name == "deploy_key":
        found.add("a8")
        if action == "created":
            found.add("a8")
    elif name == "github_app_authorization":
        found.add("a4")
        if action == "revoked":
            found.add("a0")
    elif name == "merge_group":
        found.add("a2")
        if action == "checks_requested":
            found.add("a8")
    elif name == "meta":
        found.add("a3")
        if action == "deleted":
            found.add("a5")
    elif name == "pull_request_review_thread":
        found.add("a7")
    elif name == "repository_dispatch":
        found.add("a1")
        if action == "on-demand-test":
            found.add("a7")
    elif name == "repository_import":
        found.add("a2")
    elif name in {"workflow_dispatch", "member"}:
        found.add("a0")
    elif name == "organization":
        found.add("a5")
    elif name == "workflow_run":
        found.add("a2")
    return list(found)


MATCH = {"orders": match_orders, "github": match_github}
